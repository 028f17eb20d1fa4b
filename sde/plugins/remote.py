"""Classes that stand for a plug-in's class in the engine: they hold states and call its process.

To banks, windows, questions and snapshots such a class is a kind like any other. `kind_class` makes
it from a `PluginVersion`, with what the plug-in declared; each worker has its own process of a
plug-in, started by the first call that needs it. Every call may raise PluginFailure: the caller
quarantines the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from sde.plugins import calls
from sde.plugins.calls import Call, Result, from_raw, to_raw
from sde.plugins.columns import to_arrays
from sde.plugins.declaration import Declaration
from sde.plugins.failure import PluginFailure, RefusedMerge
from sde.plugins.process import PluginProcess, UnfitPlugin
from sde.plugins.version import Made, PluginVersion
from synopses import (
    Arrays,
    BankedSynopsis,
    Estimate,
    Items,
    Layout,
    MergeError,
    QueryError,
    StateError,
    Streams,
    Synopsis,
)
from synopses.base import LARGEST

R = TypeVar("R", bound=Result)
_CALL_BYTES = 64 << 20  # of arrays or states that go over in one call,
_CALL_STATES = 256  # and states of an older version
_DTYPES = "iufb"  # numbers: nothing else may lie in arrays


class Remote(Synopsis):
    """What both forms of plug-ins share. `version` and `made` are set by `kind_class`."""

    version: ClassVar[PluginVersion]
    made: ClassVar[dict[bytes, Made]]  # by parameters
    sizes: Made

    @classmethod
    def process(cls) -> PluginProcess:
        """The running process of this plug-in: one in each worker, started when first needed."""
        return _running(cls.version)

    @classmethod
    def learn(cls, made: Made) -> None:
        """Know the sizes for some parameters, without asking the plug-in again."""
        cls.made[_key(made.params)] = made

    def _prepare(self) -> None:
        params = self.params
        if _key(params) not in self.made:
            sizes, _ = self._call(calls.Make(to_raw(params)), calls.Sizes)
            self.learn(checked_sizes(self.process(), params, sizes))
        self.sizes = self.made[_key(params)]

    @classmethod
    def _call(
        cls,
        call: Call,
        expected: type[R],
        arrays: Mapping[str, NDArray[Any]] | None = None,
        states: Sequence[bytes] = (),
    ) -> tuple[R, list[bytes]]:
        return cls.process().call(call, expected, arrays, states)

    @property
    def memory(self) -> int:
        return self.sizes.memory

    def _merge(self, other: Self) -> None:
        merge = calls.Merge(to_raw(self.params))
        both = [self._payload(), other._payload()]
        try:
            _, states = self._call(merge, calls.Done, None, both)
        except MergeError as error:
            raise RefusedMerge(self.kind, f"merge failed: {error}") from None
        (state,) = self._checked_states(states, 1, self.memory)
        try:
            self._load(memoryview(state))
        except StateError as error:
            self.process().nonsense(str(error))

    def estimate(self, query: Mapping[str, Any] | None = None, *others: Self) -> Estimate:
        question, _ = self.check_query(query or {}, len(others))
        if question.across:
            raise QueryError("query.type", question.name, "a question about one synopsis")
        states = [self._payload(), *(other._payload() for other in others)]
        ask = calls.Ask(to_raw(self.params), to_raw(dict(query or {})))
        answer, _ = self._call(ask, calls.Answer, None, states)
        return self._estimate_of(answer)

    @classmethod
    def _estimate_of(cls, answer: calls.Answer) -> Estimate:
        try:
            estimate = Estimate(**from_raw(answer.estimate))
        except (TypeError, ValueError):
            cls.process().nonsense("no estimate")
        value, lower, upper = estimate.value, estimate.lower, estimate.upper
        numbers = [each for each in (lower, value, upper) if isinstance(each, int | float)]
        if any(not low <= high for low, high in pairwise(numbers)):  # also not numbers
            cls.process().nonsense(
                f"lower={lower!r}, value={value!r}, upper={upper!r}: expected lower <= value <= "
                "upper"
            )
        return estimate

    @classmethod
    def _checked_states(cls, states: list[bytes], count: int, memory: int) -> list[bytes]:
        """States that a plug-in gave, before any is kept: one too large must never be loaded."""
        if len(states) != count:
            cls.process().nonsense(f"{len(states)} states for {count}")
        largest = max(map(len, states), default=0)
        if largest > memory:
            cls.process().fail(f"a synopsis takes {largest} bytes, and declared {memory}")
        return states

    @classmethod
    def migrated(
        cls, params: dict[str, Any], old: Made, states: Sequence[bytes]
    ) -> Iterator[bytes]:
        """States with these parameters, made of those of an older version, some in each call."""
        layout = None if old.layout is None else stated_layout(old.layout)
        call = calls.Migrate(to_raw(params), to_raw(old.params), layout)
        memory = cls.made[_key(params)].memory
        for some in _portions(states):
            _, made = cls._call(call, calls.Done, None, some)
            yield from cls._checked_states(made, len(some), memory)

    def verify(self) -> None:
        """StateError if the plug-in says that these bytes are no state; for states of others."""
        size = len(self._payload())
        if size > self.memory:
            raise StateError(f"{self.kind}: {size} bytes, expected at most {self.memory}")
        check = calls.CheckState(to_raw(self.params))
        self._call(check, calls.Done, None, [self._payload()])


class RemoteSynopsis(Remote):
    """A plug-in that keeps its state as it likes; here it is bytes, none while it is empty."""

    _bytes = b""

    @classmethod
    def add_many(
        cls, synopses: list[RemoteSynopsis], slots: NDArray[np.int64], items: Items
    ) -> None:
        """Add item i to `synopses[slots[i]]`, in one call for all."""
        arrays = {**to_arrays(items), "slots": slots}
        add = calls.Add(to_raw(synopses[0].params), len(items))
        before = [synopsis._bytes for synopsis in synopses]
        _, states = cls._call(add, calls.Done, arrays, before)
        cls._checked_states(states, len(synopses), synopses[0].memory)
        for synopsis, state in zip(synopses, states, strict=True):
            synopsis._bytes = state

    def _add(self, items: Items) -> None:
        self.add_many([self], np.zeros(len(items), np.int64), items)

    def _merge(self, other: Self) -> None:
        if other._bytes:  # else the plug-in would give an empty state a form of its own
            super()._merge(other)

    def _payload(self) -> bytes:
        return self._bytes

    def _load(self, payload: memoryview) -> None:
        self._bytes = bytes(payload)


class RemoteBanked(Remote, BankedSynopsis):
    """A plug-in whose state is arrays: those of the slots that a block touches go over and back."""

    def _prepare(self) -> None:
        BankedSynopsis._prepare(self)
        Remote._prepare(self)

    def layout(self) -> Layout:
        assert self.sizes.layout is not None
        return dict(stated_layout(self.sizes.layout))

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        touched, places = np.unique(slots, return_inverse=True)
        at_once = max(1, _CALL_BYTES // max(1, self.memory))
        changed = []  # written when all calls came back: a plug-in that fails has added nothing
        for start in range(0, len(touched), at_once):
            some, of_some, to = touched[start : start + at_once], items, places
            if len(some) < len(touched):
                rows = np.flatnonzero((places >= start) & (places < start + at_once))
                of_some, to = items.take(rows), places[rows] - start
            made = self._add_some(arrays, some, to.astype(np.int32), of_some)
            if len(some) < len(touched):  # the next call overwrites them
                made = {name: array.copy() for name, array in made.items()}
            changed.append((some, made))
        for some, made in changed:
            for name, array in arrays.items():
                array[some] = made[name]

    def _add_some(
        self, arrays: Arrays, touched: NDArray[np.int32], to: NDArray[np.int32], items: Items
    ) -> Arrays:
        """The rows of the touched slots with the items in them."""
        add = calls.AddSlots(to_raw(self.params), len(items))
        copied = {f"a.{name}": array[touched] for name, array in arrays.items()}
        self._call(add, calls.Done, {**to_arrays(items), "slots": to, **copied})
        changed = self.process().views()
        return {name: changed[f"a.{name}"] for name in arrays}

    def _merge(self, other: Self) -> None:
        if self.linear:
            BankedSynopsis._merge(self, other)
        else:
            Remote._merge(self, other)


def _across(name: str) -> Callable[..., Estimate]:
    """The method that asks a question across streams."""

    def ask(self: Remote, streams: Streams, **arguments: Any) -> Estimate:
        across = calls.AskAcross(to_raw(self.params), name, streams.names, to_raw(arguments))
        answer, _ = self._call(across, calls.Answer, streams.arrays)
        return self._estimate_of(answer)

    return ask


# -- of this process -------------------------------------------------------------------------------

_processes: dict[tuple[str, str], PluginProcess] = {}
_classes: dict[bytes, type[Remote]] = {}


def kind_class(version: PluginVersion) -> type[Remote]:
    """The class that stands for a version of a plug-in, the same for equal versions.

    Starts no process. ValueError or KeyError if the version's declaration makes no sense.
    """
    key = orjson.dumps(version)
    if key not in _classes:
        declaration = Declaration.from_json(version.declaration)
        across = {q.name: _across(q.name) for q in declaration.questions if q.across}
        base = RemoteBanked if declaration.banked else RemoteSynopsis
        attributes = {"kind": version.kind, "version": version, "made": {}, **across}
        cls: type[Remote] = type(version.name, (base,), attributes)
        declaration.declare_on(cls)
        _classes[key] = cls
    return _classes[key]


def _running(version: PluginVersion) -> PluginProcess:
    key = (version.kind, version.sha256)
    process = _processes.get(key)
    if process is None or process.ended or process.is_stale:
        stop_process(version)
        process = _processes[key] = PluginProcess(version.kind, version.seconds)
        try:
            process.load(version.name, version.source, version.memory)
        except UnfitPlugin as error:  # it passed its examination once
            process.stop()
            raise PluginFailure(version.kind, f"load failed: {error}") from None
    return process


def stop_process(version: PluginVersion) -> None:
    """Stop what runs for this worker; it starts again if it is needed."""
    process = _processes.pop((version.kind, version.sha256), None)
    if process is not None:
        process.stop()


def stated_layout(layout: Mapping[str, list[Any]]) -> calls.StatedLayout:
    """The layout of a `Made` as calls state it."""
    return {name: (dtype, tuple(shape)) for name, (dtype, shape) in layout.items()}


def _portions(states: Sequence[bytes]) -> Iterator[list[bytes]]:
    """The states in the order they stand, so many together as one call may take."""
    some: list[bytes] = []
    for state in states:
        if some and (len(some) == _CALL_STATES or sum(map(len, some)) + len(state) > _CALL_BYTES):
            yield some
            some = []
        some.append(state)
    if some:
        yield some


def _key(params: Mapping[str, Any]) -> bytes:
    return orjson.dumps(params, option=orjson.OPT_SORT_KEYS)


def checked_sizes(process: PluginProcess, params: dict[str, Any], sizes: calls.Sizes) -> Made:
    """The sizes that a plug-in stated for parameters, if they can be true."""
    layout = sizes.layout or {}
    try:
        dtypes = [np.dtype(dtype) for dtype, _ in layout.values()]
        lengths = [int(np.prod(shape, dtype=np.int64)) for _, shape in layout.values()]
        same_params = from_raw(sizes.params) == params
    except (TypeError, ValueError, OverflowError):
        process.nonsense("sizes that are none")
    taken = [dtype.itemsize * length for dtype, length in zip(dtypes, lengths, strict=True)]
    fits = sizes.memory >= 0 and all(0 <= size <= LARGEST for size in taken)
    if (
        not fits
        or sum(taken) > LARGEST
        or {dtype.kind for dtype in dtypes} - set(_DTYPES)
        or not same_params
    ):
        process.nonsense("impossible sizes or parameters")
    as_json = {name: [dtype, list(shape)] for name, (dtype, shape) in layout.items()}
    return Made(params, sizes.memory, None if sizes.layout is None else as_json)
