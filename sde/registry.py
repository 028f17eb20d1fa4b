"""The registry of definitions: the same in every shard, because every shard sees every request.

A uid names an instance; several uids name the same one where `reuse` attached them. What is
decided here depends on the requests alone, never on a shard's data, so all shards decide alike.

It rests as a list of facts, one JSON array a line; applying them in their order gives the
registry again. A change appends its facts, so that it costs the same however many there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson

from sde.definitions import complete
from sde.facts import Fact, Factual
from sde.limits import StateLimits
from sde.messages import DATASET_SCOPE, Code, Create, Definition, Refusal
from sde.messages.loop import Reached
from sde.plugins.shelf import Shelf
from sde.watches import Watches
from sde.windows.watermarks import Watermarks
from synopses import Synopsis


@dataclass(slots=True)
class Instance:
    """A definition that is kept, and the uids that name it."""

    number: int
    definition: Definition
    cls: type[Synopsis]
    since: int
    level: int  # among instances for the same stream that could share a layer: 0, 1, ...
    uids: list[str] = field(default_factory=list)
    bank: str = field(init=False)  # equal for those that share a bank: same kind and parameters
    layer: str = field(init=False)  # equal for those that share a layer

    def __post_init__(self) -> None:
        d = self.definition
        params = orjson.dumps(d.params, option=orjson.OPT_SORT_KEYS).decode()
        self.bank = f"{d.kind} {params}"
        self.layer = str(self.number)
        if d.stream is not None:
            shared = [self.bank, d.dataset, d.key, d.values, d.window, d.time, self.level]
            self.layer = orjson.dumps(shared).decode()

    def template(self) -> Synopsis:
        """An empty synopsis as defined."""
        return self.cls(**self.definition.params)

    @property
    def has_panes(self) -> bool:
        """Whether a window is made of panes; a kind that does not merge keeps it by itself."""
        return self.definition.window is not None and self.cls.mergeable


class Registry(Factual):
    def __init__(self, limits: StateLimits, shards: int = 1) -> None:
        super().__init__()
        self._limits, self._shards = limits, shards
        self._came: dict[int, Instance] = {}
        self._went: list[Instance] = []
        self._next = 0
        self.instances: dict[int, Instance] = {}
        self.shelf = Shelf()
        self.watches = Watches()
        self.time = 0  # of the last tick
        self.watermarks = Watermarks()
        self.expiries: dict[str, int] = {}  # when a uid is deleted
        self._of_uid: dict[str, int] = {}
        self._of_definition: dict[bytes, list[int]] = {}  # numbers, the oldest first
        self._taken: dict[tuple[Any, ...], int] = {}  # (layer, stream) of named streams
        self._outcomes: dict[str, dict[str, Any]] = {}
        self._versions: dict[str, int] = {}  # snapshots taken, by uid
        self._memory: dict[str, int] = {}  # bytes of one synopsis, by bank
        self._promised: dict[str, int] = defaultdict(int)  # bytes, by data set

    # -- facts ----------------------------------------------------------------------------------

    def take_changes(self) -> tuple[list[Instance], list[Instance]]:
        """The instances that came and those that went since the last call."""
        came, went = list(self._came.values()), self._went
        self._came, self._went = {}, []
        return came, went

    def facts(self) -> Iterator[Fact]:
        """Facts that make this registry out of an empty one."""
        yield ["number", self._next]
        for fact in self.shelf.facts():
            yield ["shelf", *fact]
        for i in self.instances.values():
            yield ["keep", i.number, asdict(i.definition), i.since, i.level]
        for uid, number in self._of_uid.items():
            yield ["attach", uid, number, self.expiries.get(uid)]
        for request_id, outcome in self._outcomes.items():
            yield ["outcome", request_id, outcome]
        for uid, version in self._versions.items():
            yield ["version", uid, version]
        yield ["tick", self.time]
        for dataset, clock, time, reached in self.watermarks:
            yield ["watermark", dataset, clock, time, reached]
        for watching in self.watches:
            yield ["watch", watching.as_json()]

    def _on_number(self, number: int) -> None:
        self._next = number

    def _on_shelf(self, *fact: Any) -> None:
        self.shelf.apply(*fact)

    def _on_keep(self, number: int, definition: dict[str, Any], since: int, level: int) -> None:
        held = Definition.from_record(definition)
        instance = Instance(number, held, self.shelf[held.kind], since, level)
        self._next = max(self._next, number + 1)
        self.instances[number] = instance
        self._of_definition.setdefault(_signature(instance.definition), []).append(number)
        if instance.definition.stream is not None:
            self._taken[_place(instance)] = number
        self._promised[instance.definition.dataset] += self._promise(instance)
        self._came[number] = instance

    def _on_attach(self, uid: str, number: int, expires: int | None) -> None:
        self.instances[number].uids.append(uid)
        self._of_uid[uid] = number
        if expires is not None:
            self.expiries[uid] = expires

    def _on_detach(self, uid: str) -> None:
        instance = self.instances[self._of_uid.pop(uid)]
        instance.uids.remove(uid)
        self.expiries.pop(uid, None)
        self.watches.end_of(uid)
        if instance.uids:
            return
        del self.instances[instance.number]
        self._taken.pop(_place(instance), None)
        signature = _signature(instance.definition)
        self._of_definition[signature].remove(instance.number)
        if not self._of_definition[signature]:
            del self._of_definition[signature]
        self._promised[instance.definition.dataset] -= self._promise(instance)
        if self._came.pop(instance.number, None) is None:
            self._went.append(instance)

    def _on_outcome(self, request_id: str, outcome: dict[str, Any]) -> None:
        self._outcomes[request_id] = outcome
        while len(self._outcomes) > self._limits.remembered_requests:
            del self._outcomes[next(iter(self._outcomes))]

    def _on_version(self, uid: str, version: int) -> None:
        self._versions[uid] = version

    def _on_tick(self, time: int) -> None:
        self.time = max(self.time, time)  # a clock that was set back does not count
        self.watches.on_tick(self.time)

    def _on_watermark(self, dataset: str, clock: str, time: int, reached: Reached) -> None:
        self.watermarks.learn(dataset, clock, reached)
        self.watermarks.set(dataset, clock, time)

    def _on_watch(self, held: dict[str, Any]) -> None:
        self.watches.begin(held)

    def _on_unwatch(self, watch: str) -> None:
        self.watches.end(watch)

    def _on_answered(self, watch: str, number: int, value: Any, holds: bool | None) -> None:
        self.watches.answered(watch, number, value, holds)

    # -- changing -------------------------------------------------------------------------------

    def create(self, request: Create, since: int) -> tuple[Instance, bool]:
        """The instance of a new uid, and whether it is a new one; Refusal if it cannot be."""
        held = self._of_uid.get(request.uid)
        definition = complete(self._wanted(request, held), self._limits, self.shelf)
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
        self._note_sizes(definition)
        expires = None if request.ttl is None else since + request.ttl
        same = self._of_definition.get(_signature(definition)) if request.reuse else None
        if same is not None:
            self._change("attach", request.uid, same[0], expires)
            return self.instances[same[0]], False
        number = self._next
        instance = Instance(number, definition, self.shelf[definition.kind], since, 0)
        self._check_bytes(instance)
        level = self._free_level(instance)
        self._change("keep", number, asdict(definition), since, level)
        self._change("attach", request.uid, number, expires)
        return self.instances[number], True

    def _wanted(self, request: Create, held: int | None) -> Definition:
        """What is to be created; a uid that runs keeps its version of a plug-in."""
        wanted = request.definition
        running = self.instances[held].definition.kind if held is not None else ""
        return replace(wanted, kind=running) if running.startswith(f"{wanted.kind}@") else wanted

    def _note_sizes(self, definition: Definition) -> None:
        """What a plug-in says of its sizes is a fact: it is not asked again."""
        remote = self.shelf.remote(definition.kind)
        if remote is not None:
            made = asdict(remote(**definition.params).sizes)
            if made not in self.shelf.made.get(definition.kind, []):
                self._change("shelf", "made", definition.kind, made)

    def _free_level(self, instance: Instance) -> int:
        while instance.definition.stream is not None and _place(instance) in self._taken:
            instance.level += 1
            instance.__post_init__()
        return instance.level

    def _check_bytes(self, instance: Instance) -> None:
        """What is promised at creation must fit; streams that come later find room or are shed."""
        needed = self._promise(instance)
        held = {
            "max_dataset_bytes": self.promised(instance.definition.dataset),
            "max_bytes": self.promised(),
        }
        for name, promised in held.items():
            most = getattr(self._limits, name)
            if promised + needed > most:
                raise Refusal(
                    Code.LIMIT_EXCEEDED,
                    f"{needed} bytes beside {promised} would be more than {name}={most}; delete "
                    "synopses or take smaller ones",
                    "params",
                )

    def promised(self, dataset: str | None = None) -> int:
        """Bytes that the synopses of a data set, or of all, will surely take."""
        held = self._promised
        return sum(held.values()) if dataset is None else held.get(dataset, 0)

    def _promise(self, instance: Instance) -> int:
        """Bytes that are surely taken: all of them, but for streams that are yet to come."""
        definition = instance.definition
        if definition.scope != DATASET_SCOPE and definition.stream is None:
            return 0
        if instance.bank not in self._memory:
            self._memory[instance.bank] = instance.template().memory
        window = definition.window
        panes = window.panes if window is not None and instance.has_panes else 1
        shards = self._shards if definition.scope == DATASET_SCOPE else 1
        return self._memory[instance.bank] * panes * shards

    def delete(self, uid: str) -> tuple[Instance, bool]:
        """The instance a uid named, and whether that was its last name; it is then forgotten."""
        instance = self.instance(uid)
        self._change("detach", uid)
        return instance, not instance.uids

    def shelve(self, *fact: Any) -> None:
        """Change what is known of plug-ins; see `Shelf.apply`."""
        self._change("shelf", *fact)

    def users_of(self, kind: str) -> list[str]:
        """The uids whose synopses are of a kind."""
        return [u for u, n in self._of_uid.items() if self.instances[n].definition.kind == kind]

    def remember(self, request_id: str, outcome: dict[str, Any]) -> None:
        self._change("outcome", request_id, outcome)

    def next_version(self, uid: str) -> int:
        """The number that a snapshot without a name gets."""
        return self._versions.get(uid, 0) + 1

    def keep_version(self, uid: str, number: int) -> None:
        self._change("version", uid, max(number, self._versions.get(uid, 0)))

    def tick(self, time: int) -> None:
        self._change("tick", time)

    def advance(self, dataset: str, clock: str, time: int, reached: Reached) -> None:
        """Move a data set's watermark, never back, and keep how far its partitions are."""
        self._change("watermark", dataset, clock, time, reached)

    def watch(self, held: dict[str, Any]) -> None:
        if held["id"] in self.watches:  # a repeat, so late that its outcome was forgotten
            return
        if len(self.watches) >= self._limits.max_watches:
            raise Refusal(
                Code.LIMIT_EXCEEDED, f"there are {len(self.watches)} watches: the limit is reached"
            )
        self._change("watch", held)

    def unwatch(self, watch: str) -> None:
        if watch not in self.watches:
            raise Refusal(
                Code.UNKNOWN_WATCH,
                f"watch={watch[:80]!r}: expected the id of a watch that runs",
                "watch",
            )
        self._change("unwatch", watch)

    def answered(self, watch: str, number: int, value: Any, holds: bool | None) -> None:
        if watch in self.watches:
            self._change("answered", watch, number, value, holds)

    # -- asking ---------------------------------------------------------------------------------

    def instance(self, uid: str) -> Instance:
        number = self._of_uid.get(uid)
        if number is None:
            raise Refusal(
                Code.UNKNOWN_SYNOPSIS, f"uid={uid[:80]!r}: expected the uid of a synopsis", "uid"
            )
        return self.instances[number]

    def find(self, uid: str) -> Instance | None:
        number = self._of_uid.get(uid)
        return None if number is None else self.instances[number]

    def uids(self, dataset: str | None) -> dict[str, Instance]:
        """All uids, or those of one data set, in the order of their creation."""
        named = {uid: self.instances[number] for uid, number in self._of_uid.items()}
        return {u: i for u, i in named.items() if dataset in (None, i.definition.dataset)}

    def outcome(self, request_id: str) -> dict[str, Any] | None:
        """Of a request that came before."""
        return self._outcomes.get(request_id)


def _place(instance: Instance) -> tuple[Any, ...]:
    return (instance.layer, instance.definition.stream)


def _signature(definition: Definition) -> bytes:
    return orjson.dumps(definition, option=orjson.OPT_SORT_KEYS)
