"""The registry of definitions: the same in every shard, because every shard sees every request.

A uid names an instance; several uids name the same one where `reuse` attached them. What is
decided here depends on the requests alone, never on a shard's data, so all shards decide alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from sde.limits import StateLimits
from sde.messages import DATASET_SCOPE, Code, Create, Definition, Refusal
from synopses import KINDS, ParameterError, Synopsis

FORMAT = 1


@dataclass(slots=True)
class Instance:
    """A definition that is kept, and the uids that name it."""

    number: int
    definition: Definition
    since: int
    level: int  # among instances for the same stream that could share a layer: 0, 1, ...
    uids: list[str] = field(default_factory=list)

    @property
    def bank(self) -> str:
        """Equal for instances that can share a bank: same kind, same parameters."""
        params = orjson.dumps(self.definition.params, option=orjson.OPT_SORT_KEYS).decode()
        return f"{self.definition.kind} {params}"

    @property
    def layer(self) -> str:
        """Equal for instances that can share a layer."""
        d = self.definition
        if d.stream is None:
            return str(self.number)
        shared = [self.bank, d.dataset, d.key, d.values, self.level]
        return orjson.dumps(shared).decode()


class Registry:
    def __init__(self, limits: StateLimits) -> None:
        self._limits = limits
        self._next = 0
        self.instances: dict[int, Instance] = {}
        self._of_uid: dict[str, int] = {}
        self._of_definition: dict[bytes, int] = {}
        self._taken: dict[tuple[Any, ...], int] = {}  # (layer, stream) of named streams
        self._outcomes: dict[str, dict[str, Any]] = {}

    # -- changing -------------------------------------------------------------------------------

    def create(self, request: Create, since: int) -> tuple[Instance, bool]:
        """The instance of a new uid, and whether it is a new one; Refusal if it cannot be."""
        definition = complete(request.definition, self._limits)
        held = self._of_uid.get(request.uid)
        if held is not None:
            if self.instances[held].definition == definition:
                return self.instances[held], False
            raise Refusal(
                Code.SYNOPSIS_EXISTS,
                f"uid={request.uid!r} is taken by another definition; delete it first or choose "
                "another uid",
                "uid",
            )
        if len(self._of_uid) >= self._limits.max_synopses:
            raise Refusal(
                Code.LIMIT_EXCEEDED, f"there are {len(self._of_uid)} synopses: the limit is reached"
            )
        same = self._of_definition.get(_signature(definition)) if request.reuse else None
        if same is not None:
            self._attach(self.instances[same], request.uid)
            return self.instances[same], False
        instance = Instance(self._next, definition, since, level=0)
        while definition.stream is not None and self._place(instance) in self._taken:
            instance.level += 1
        self._next += 1
        self._keep(instance)
        self._attach(instance, request.uid)
        return instance, True

    def delete(self, uid: str) -> tuple[Instance, bool]:
        """The instance a uid named, and whether that was its last name; it is then forgotten."""
        instance = self.instance(uid)
        instance.uids.remove(uid)
        del self._of_uid[uid]
        if instance.uids:
            return instance, False
        del self.instances[instance.number]
        self._taken.pop(self._place(instance), None)
        if self._of_definition.get(_signature(instance.definition)) == instance.number:
            del self._of_definition[_signature(instance.definition)]
        return instance, True

    def _keep(self, instance: Instance) -> None:
        self.instances[instance.number] = instance
        self._of_definition.setdefault(_signature(instance.definition), instance.number)
        if instance.definition.stream is not None:
            self._taken[self._place(instance)] = instance.number

    def _attach(self, instance: Instance, uid: str) -> None:
        if uid not in instance.uids:
            instance.uids.append(uid)
        self._of_uid[uid] = instance.number

    def _place(self, instance: Instance) -> tuple[Any, ...]:
        return (instance.layer, instance.definition.stream)

    # -- asking ---------------------------------------------------------------------------------

    def instance(self, uid: str) -> Instance:
        number = self._of_uid.get(uid)
        if number is None:
            raise Refusal(
                Code.UNKNOWN_SYNOPSIS, f"uid={uid[:80]!r}: expected the uid of a synopsis", "uid"
            )
        return self.instances[number]

    def uids(self, dataset: str | None) -> dict[str, Instance]:
        """All uids, or those of one data set, in the order of their creation."""
        named = {uid: self.instances[number] for uid, number in self._of_uid.items()}
        return {u: i for u, i in named.items() if dataset in (None, i.definition.dataset)}

    # -- repeated requests ------------------------------------------------------------------------

    def outcome(self, request_id: str) -> dict[str, Any] | None:
        return self._outcomes.get(request_id)

    def remember(self, request_id: str, outcome: dict[str, Any]) -> None:
        self._outcomes[request_id] = outcome
        while len(self._outcomes) > self._limits.remembered_requests:
            del self._outcomes[next(iter(self._outcomes))]

    # -- bytes ------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        return orjson.dumps(
            {
                "format": FORMAT,
                "next": self._next,
                "instances": list(self.instances.values()),
                "uids": self._of_uid,
                "outcomes": self._outcomes,
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes, limits: StateLimits) -> Registry:
        held = orjson.loads(data)
        if held["format"] != FORMAT:
            raise ValueError(
                f"the registry has format {held['format']}, this version reads {FORMAT}"
            )
        registry = cls(limits)
        registry._next = held["next"]
        for fields in held["instances"]:
            definition = Definition.from_record(fields.pop("definition"))
            registry._keep(Instance(definition=definition, **fields))
        registry._of_uid = held["uids"]
        registry._outcomes = held["outcomes"]
        return registry


def template_of(definition: Definition) -> Synopsis:
    """An empty synopsis as defined."""
    return KINDS[definition.kind](**definition.params)


def complete(definition: Definition, limits: StateLimits) -> Definition:
    """The definition with every parameter filled in; Refusal if it cannot be kept."""
    kind = KINDS.get(definition.kind)
    if kind is None:
        raise Refusal(
            Code.UNKNOWN_KIND,
            f"kind={definition.kind[:80]!r}: expected one of {', '.join(KINDS)}",
            "kind",
        )
    try:
        template = kind(**definition.params)
    except ParameterError as error:
        raise Refusal(Code.BAD_PARAMETER, str(error), f"params.{error.name}") from None
    if template.memory > limits.max_synopsis_bytes:
        raise Refusal(
            Code.LIMIT_EXCEEDED,
            f"one {kind.kind} with these parameters takes {template.memory} bytes: expected at "
            f"most {limits.max_synopsis_bytes}",
            "params",
        )
    _check_fields(definition, template)
    if definition.scope == DATASET_SCOPE and not kind.mergeable:
        raise Refusal(
            Code.NOT_MERGEABLE,
            f'{kind.kind} cannot be merged over shards: expected scope "stream" or a stream',
            "scope",
        )
    return replace(definition, params=template.params)


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
        raise Refusal(
            Code.BAD_REQUEST,
            f"value={list(definition.values)!r}: {definition.kind} needs {needed} value field(s)",
            "value",
        )


def _signature(definition: Definition) -> bytes:
    return orjson.dumps(definition, option=orjson.OPT_SORT_KEYS)
