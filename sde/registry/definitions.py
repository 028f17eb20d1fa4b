"""Definitions: which can be kept, with which parameters, and what many of them share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson

from sde.expressions import ExpressionError, Type, parse
from sde.limits import StateLimits
from sde.plugins.shelf import Shelf
from sde.wire import DATASET_SCOPE, Code, Definition, Refusal
from synopses import KINDS, ParameterError, Synopsis

_MOST_KNOWN = 1_000  # requests whose complete definition is remembered
_LONGEST_KNOWN = 2_000  # characters of one of them


@dataclass(slots=True)
class Pattern:
    """What definitions share that differ in nothing but the stream they name.

    There may be thousands of those: what follows from the rest is worked out once, here.
    `numbers` has the instances for each stream, the oldest first.
    """

    number: int  # of the instance it came with, which facts name it by
    definition: Definition  # of that instance
    cls: type[Synopsis]
    promise: int  # bytes that each instance surely takes
    bank: str = field(init=False)  # equal for those that share a bank: same kind and parameters
    signature: bytes = field(init=False)
    numbers: dict[str | None, list[int]] = field(default_factory=dict, repr=False)
    _layers: dict[int, str] = field(default_factory=dict, compare=False)  # by level

    def __post_init__(self) -> None:
        self.bank = _bank(self.definition)
        self.signature = signature_of(self.definition)

    def layer(self, number: int, level: int) -> str:
        """Equal for instances that share a layer: those of a level, if they name their streams."""
        d = self.definition
        if d.stream is None:
            return str(number)
        if level not in self._layers:
            shared = [self.bank, d.dataset, d.key, d.values, d.window, d.time, level]
            shared += [d.where] if d.where else []  # stores know older layers by the rest alone
            self._layers[level] = orjson.dumps(shared).decode()
        return self._layers[level]

    def part_with(self, stream: str | None, number: int) -> None:
        """An instance is kept no more."""
        self.numbers[stream].remove(number)
        if not self.numbers[stream]:
            del self.numbers[stream]


class Patterns:
    """All patterns of a registry, and the way from a request to its own."""

    def __init__(self, limits: StateLimits, kinds: Shelf, shards: int) -> None:
        self._limits, self._kinds, self._shards = limits, kinds, shards
        self._patterns: dict[int, Pattern] = {}
        self._of_signature: dict[bytes, Pattern] = {}
        self._memory: dict[str, int] = {}  # bytes of one synopsis, by bank
        self._known: dict[str, tuple[Definition, bytes]] = {}

    def __getitem__(self, number: int) -> Pattern:
        return self._patterns[number]

    def __iter__(self) -> Iterator[Pattern]:
        return iter(self._patterns.values())

    def of(self, signature: bytes) -> Pattern | None:
        return self._of_signature.get(signature)

    def add(self, number: int, definition: Definition) -> Pattern:
        cls, promise = self._kinds[definition.kind], self.promise(definition)
        pattern = Pattern(number, definition, cls, promise)
        self._patterns[number] = self._of_signature[pattern.signature] = pattern
        return pattern

    def drop(self, pattern: Pattern) -> None:
        del self._patterns[pattern.number], self._of_signature[pattern.signature]

    def promise(self, definition: Definition) -> int:
        """Bytes that are surely taken: all of them, but for streams that are yet to come."""
        if definition.scope != DATASET_SCOPE and definition.stream is None:
            return 0
        bank, cls = _bank(definition), self._kinds[definition.kind]
        if bank not in self._memory:
            self._memory[bank] = cls(**definition.params).memory
        window = definition.window
        panes = window.panes if window is not None and cls.mergeable else 1
        shards = self._shards if definition.scope == DATASET_SCOPE else 1
        return self._memory[bank] * panes * shards

    def complete(self, wanted: Definition) -> tuple[Definition, bytes]:
        """The definition with every parameter filled in, and what its pattern is known by.

        Refusal if it cannot be kept. Of a burst that differs in streams only the first is checked.
        """
        if wanted.kind not in KINDS:  # a name may come to mean another version of a plug-in
            definition = complete(wanted, self._limits, self._kinds)
            return definition, signature_of(definition)
        asked = repr(_all_but_stream(wanted))  # tells 1, 1.0 and true apart, which are equal
        known = self._known.get(asked)
        if known is None:
            definition = complete(wanted, self._limits, self._kinds)
            known = definition, signature_of(definition)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            if len(asked) <= _LONGEST_KNOWN:
                self._known[asked] = known
        definition, signature = known
        return for_stream(definition, wanted.stream), signature


def for_stream(d: Definition, stream: str | None) -> Definition:
    """The same for another stream; `dataclasses.replace` takes twice the time."""
    return Definition(
        d.dataset, d.kind, d.params, d.key, d.values, d.scope, stream, d.window, d.time, d.idle,
        d.where,
    )  # fmt: skip


def record_of(definition: Definition) -> dict[str, Any]:
    """What `Definition.from_record` reads. Shallow: there may be thousands of them."""
    record = {name: getattr(definition, name) for name in definition.__slots__}
    if not definition.where:  # as before there were conditions
        del record["where"]
    return {**record, "window": definition.window and asdict(definition.window)}


def _all_but_stream(d: Definition) -> tuple[object, ...]:
    named = d.stream is not None
    return (
        d.dataset, d.kind, d.params, d.key, d.values, d.scope, named, d.window, d.time, d.idle,
        d.where,
    )  # fmt: skip


def signature_of(complete: Definition) -> bytes:
    """Equal for definitions of one pattern."""
    return orjson.dumps(_all_but_stream(complete), option=orjson.OPT_SORT_KEYS)


def _bank(definition: Definition) -> str:
    params = orjson.dumps(definition.params, option=orjson.OPT_SORT_KEYS).decode()
    return f"{definition.kind} {params}"


def _own_window(definition: Definition, kind: type[Synopsis]) -> Definition:
    """A window by count of a kind that keeps windows by time: so many intervals."""
    window = definition.window
    fits = {"interval", "window", "basic_window"} <= kind.parameters.keys()
    if window is None or kind.mergeable or not (window.count and fits):
        return definition
    interval = definition.params.get("interval", kind.parameters["interval"].default)
    if not isinstance(interval, int | float):
        return definition  # refused with the other parameters
    lengths = {"window": window.size * interval, "basic_window": window.slide * interval}
    return replace(definition, params={**definition.params, **lengths})


def complete(definition: Definition, limits: StateLimits, kinds: Shelf) -> Definition:
    """The definition with every parameter filled in; Refusal if it cannot be kept."""
    definition = replace(definition, kind=kinds.resolve(definition.kind))
    kind = kinds[definition.kind]
    definition = _own_window(definition, kind)
    try:
        template = kind(**definition.params)
    except ParameterError as error:
        raise Refusal(Code.BAD_PARAMETER, str(error), f"params.{error.name}") from None
    if template.memory > limits.max_synopsis_bytes:
        raise Refusal(
            Code.LIMIT_EXCEEDED,
            f"one {kind.kind} with these parameters takes {template.memory:,} bytes: expected at "
            f"most {limits.max_synopsis_bytes:,}",
            "params",
        )
    _check_fields(definition, template)
    _check_time(definition, template)
    _check_scope(definition, template)
    _check_window(definition, template, limits)
    return replace(definition, params=template.params, where=_condition(definition.where))


def _condition(where: str) -> str:
    """The canonical text of a condition, so that equal ones are equal; Refusal if it is none."""
    try:
        return str(parse(where, result=Type.BOOLEAN)) if where else ""
    except ExpressionError as error:
        shown = where if len(where) <= 80 else f"{where[:77]}..."
        raise Refusal(Code.BAD_PARAMETER, f"where={shown!r}: {error}", "where") from None


def _check_fields(definition: Definition, template: Synopsis) -> None:
    reads_key = bool(template.reads & {"keys", "texts"})
    if reads_key and not definition.key:
        raise Refusal(
            Code.BAD_REQUEST, f"key=None: {definition.kind} needs the field of its keys", "key"
        )
    if "values" not in template.reads:
        return
    needed = getattr(template, "value_fields", 1)
    needed = getattr(template, needed) if isinstance(needed, str) else needed
    optional = reads_key and needed == 1
    if len(definition.values) != needed and not (optional and not definition.values):
        fields = "one value field" if needed == 1 else f"{needed} value fields"
        names = f": {', '.join(template.value_names)}" if template.value_names else ""
        raise Refusal(
            Code.BAD_REQUEST,
            f"value={list(definition.values)!r}: {definition.kind} needs {fields}{names}",
            "value",
        )


def _check_time(definition: Definition, template: Synopsis) -> None:
    if definition.time and "times" not in template.reads:
        raise Refusal(
            Code.BAD_REQUEST,
            f"time={definition.time!r}: {definition.kind} does not read times; windows have a "
            "`time` of their own",
            "time",
        )


def _check_scope(definition: Definition, template: Synopsis) -> None:
    if definition.scope == DATASET_SCOPE and not template.mergeable:
        raise Refusal(
            Code.NOT_MERGEABLE,
            f'{definition.kind} cannot be merged over shards: expected scope "stream" or a stream',
            "scope",
        )
    if definition.idle is not None and (
        definition.scope == DATASET_SCOPE or definition.stream is not None
    ):
        raise Refusal(
            Code.BAD_REQUEST, 'idle: expected only with scope "stream"; use ttl otherwise', "idle"
        )


def _check_window(definition: Definition, template: Synopsis, limits: StateLimits) -> None:
    window = definition.window
    if window is None:
        return
    if not template.mergeable:
        if window.count and hasattr(template, "interval"):
            return
        raise Refusal(
            Code.NOT_MERGEABLE,
            f"{definition.kind} cannot be merged from panes: expected no window (it keeps one of "
            "its own, by its parameters)",
            "window",
        )
    if window.count and definition.scope == DATASET_SCOPE:
        raise Refusal(
            Code.BAD_REQUEST,
            'window.size: a window by count needs scope "stream" or a stream, because tuples of '
            "different streams have no common order",
            "window.size",
        )
    panes = window.panes
    if panes > limits.max_panes:
        raise Refusal(
            Code.LIMIT_EXCEEDED,
            f"window: {panes:,} panes would be kept, expected at most {limits.max_panes:,}; take a "
            "longer slide, or a shorter size, keep or lateness",
            "window",
        )
    if panes * template.memory > limits.max_synopsis_bytes:
        raise Refusal(
            Code.LIMIT_EXCEEDED,
            f"window: {panes:,} panes of {template.memory:,} bytes: expected at most "
            f"{limits.max_synopsis_bytes:,} bytes together",
            "window",
        )
