"""The registry of definitions: the same in every shard, because every shard sees every request.

A uid names an instance; several uids name the same one where `reuse` attached them. What is
decided here depends on the requests alone, never on a shard's data, so all shards decide alike.

It rests as a list of facts, one JSON array a line; applying them in their order gives the
registry again. A change appends its facts, so that it costs the same however many there are.
Every worker reads them all: what thousands of instances share is one fact, their pattern.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sde.limits import StateLimits
from sde.plugins.shelf import Shelf
from sde.records.codec import as_fact, encode
from sde.records.loop import Reached
from sde.records.result import Outcome
from sde.records.sources import SourceSet
from sde.records.upgrade import outcome_of, watching_of
from sde.records.watching import Watching
from sde.registry.definitions import Pattern, Patterns, for_stream, record_of, signature_of
from sde.registry.repeats import Repeats
from sde.registry.sources import SourceBook
from sde.registry.watches import Watches
from sde.registry.watermarks import Watermarks
from sde.storage.facts import Fact, Factual
from sde.wire import Code, Definition, Refusal
from sde.wire.sources import Source
from synopses import Synopsis


@dataclass(slots=True)
class Instance:
    """A definition that is kept, and the uids that name it."""

    number: int
    pattern: Pattern
    stream: str | None  # the one it was created for
    since: int
    level: int  # among instances for the same stream that could share a layer: 0, 1, ...
    layer: str  # equal for those that share a layer
    uids: list[str] = field(default_factory=list)
    _definition: Definition | None = field(default=None, compare=False)

    @property
    def definition(self) -> Definition:
        """Made when it is first asked for: of thousands that are read, few are."""
        if self._definition is None:
            self._definition = for_stream(self.pattern.definition, self.stream)
        return self._definition

    @property
    def bank(self) -> str:
        """Equal for those that share a bank."""
        return self.pattern.bank

    def template(self) -> Synopsis:
        """An empty synopsis as defined."""
        return self.pattern.cls(**self.pattern.definition.params)

    @property
    def has_panes(self) -> bool:
        """Whether a window is made of panes; a kind that does not merge keeps it by itself."""
        return self.pattern.definition.window is not None and self.pattern.cls.mergeable


class Registry(Factual):
    def __init__(self, limits: StateLimits, shards: int = 1) -> None:
        super().__init__()
        self._limits = limits
        self._came: dict[str, Instance] = {}  # by layer
        self._went: list[Instance] = []
        self._next = 0
        self.instances: dict[int, Instance] = {}
        self.shelf = Shelf()
        self._patterns = Patterns(limits, self.shelf, shards)
        self.watches = Watches()
        self.sources = SourceBook()
        self.time = 0  # of the last tick
        self.watermarks = Watermarks()
        self.expiries: dict[str, int] = {}  # when a uid is deleted
        self._of_uid: dict[str, int] = {}
        self.by_kind: Counter[str] = Counter()  # how many uids
        self._sharers: dict[str, int] = defaultdict(int)  # how many instances share a layer
        self._outcomes: OrderedDict[str, str] = OrderedDict()  # JSON, by request
        self._repeats = Repeats()
        self._clock_users: dict[tuple[str, str], int] = defaultdict(int)  # windows, by clock
        self._versions: dict[str, int] = {}  # snapshots taken, by uid
        self._old_versions: OrderedDict[str, int] = OrderedDict()  # of uids that were deleted
        self._promised: dict[str | None, int] = defaultdict(int)  # bytes, by data set; None: all

    # -- facts ----------------------------------------------------------------------------------

    def take_changes(self) -> tuple[list[Instance], list[Instance]]:
        """Of each layer that came since the last call an instance, and of each that went."""
        came, went = list(self._came.values()), self._went
        self._came, self._went = {}, []
        return came, went

    def facts(self) -> Iterator[Fact]:
        """Facts that make this registry out of an empty one."""
        yield ["number", self._next]
        for fact in self.shelf.facts():
            yield ["shelf", *fact]
        for pattern in self._patterns:
            yield ["pattern", pattern.number, record_of(pattern.definition)]
        for i in self.instances.values():
            yield ["create", i.number, i.pattern.number, i.stream, i.since, i.level]
        for uid, number in self._of_uid.items():
            yield ["attach", uid, number, self.expiries.get(uid)]
        for request_id, outcome in self._outcomes.items():
            yield ["outcome", request_id, outcome]
        for request_id, time in self._repeats:
            yield ["once", request_id, time]
        for uid, version in (*self._old_versions.items(), *self._versions.items()):
            yield ["version", uid, version]
        yield ["tick", self.time, False, dict.fromkeys(self.watermarks.partitions, 0)]
        for watermark in self.watermarks:
            yield ["watermark", *watermark]
        for watching in self.watches:
            yield ["watch", as_fact(watching)]
        yield from self.sources.facts()

    def handlers(self) -> Mapping[str, Callable[..., None]]:
        return {
            "number": self._on_number,
            "shelf": self._on_shelf,
            "pattern": self._on_pattern,
            "create": self._on_create,
            "keep": self._on_keep,
            "attach": self._on_attach,
            "detach": self._on_detach,
            "move": self._on_move,
            "forget": self._on_forget,
            "outcome": self._on_outcome,
            "once": self._on_once,
            "version": self._on_version,
            "tick": self._on_tick,
            "watermark": self._on_watermark,
            "watch": self._on_watch,
            "unwatch": self._on_unwatch,
            "answered": self._on_answered,
            "sources": self._on_sources,
        }

    def _on_number(self, number: int) -> None:
        self._next = number

    def _on_shelf(self, *fact: Any) -> None:
        self.shelf.apply(*fact)

    def _on_pattern(self, number: int, definition: dict[str, Any]) -> None:
        self._patterns.add(number, Definition.from_record(definition))

    def _on_create(
        self,
        number: int,
        pattern: int,
        stream: str | None,
        since: int,
        level: int,
        uid: str | None = None,
        expires: int | None = None,
    ) -> None:
        of = self._patterns[pattern]
        layer = of.layer(number, level)
        instance = Instance(number, of, stream, since, level, layer)
        self.instances[number] = instance
        self._next = max(self._next, number + 1)
        of.numbers.setdefault(stream, []).append(number)
        self._promised[of.definition.dataset] += of.promise
        self._promised[None] += of.promise
        if (key := _clock_of(of)) is not None:
            self._clock_users[key] += 1
        if layer not in self._sharers:
            self._came[layer] = instance
        self._sharers[layer] += 1
        if uid is not None:
            self._on_attach(uid, number, expires)

    def _on_keep(self, number: int, definition: dict[str, Any], since: int, level: int) -> None:
        """As earlier versions wrote it: every instance with all of its definition."""
        wanted = Definition.from_record(definition)
        pattern = self._patterns.of(signature_of(wanted)) or self._patterns.add(number, wanted)
        self._on_create(number, pattern.number, wanted.stream, since, level)

    def _on_attach(self, uid: str, number: int, expires: int | None) -> None:
        self.instances[number].uids.append(uid)
        self._of_uid[uid] = number
        self._count_kind(self.instances[number], 1)
        if expires is not None:
            self.expiries[uid] = expires
        if uid in self._old_versions:
            self._versions[uid] = self._old_versions.pop(uid)

    def _on_detach(self, uid: str) -> None:
        instance = self.instances[self._of_uid.pop(uid)]
        instance.uids.remove(uid)
        self._count_kind(instance, -1)
        self.expiries.pop(uid, None)
        self.watches.end_of(uid)
        if uid in self._versions:
            self._keep_old_version(uid, self._versions.pop(uid))
        if not instance.uids:
            self._on_forget(instance.number)

    def _on_move(self, number: int, to: int) -> None:
        """The uids of an instance name another one from now on."""
        one, other = self.instances[number], self.instances[to]
        self._of_uid.update(dict.fromkeys(one.uids, to))
        self._count_kind(one, -len(one.uids))
        self._count_kind(other, len(one.uids))
        other.uids += one.uids
        one.uids.clear()
        self._on_forget(number)

    def _count_kind(self, instance: Instance, uids: int) -> None:
        kind = instance.pattern.definition.kind
        self.by_kind[kind] += uids
        if not self.by_kind[kind]:
            del self.by_kind[kind]

    def _on_forget(self, number: int) -> None:
        """An instance that no uid names is kept no more."""
        instance = self.instances.pop(number)
        pattern, layer = instance.pattern, instance.layer
        if (key := _clock_of(pattern)) is not None:
            self._clock_users[key] -= 1
            if not self._clock_users[key]:
                del self._clock_users[key]
                self.watermarks.forget(*key)
        self._promised[pattern.definition.dataset] -= pattern.promise
        self._promised[None] -= pattern.promise
        pattern.part_with(instance.stream, instance.number)
        if not pattern.numbers:
            self._patterns.drop(pattern)
        self._sharers[layer] -= 1
        if not self._sharers[layer]:
            del self._sharers[layer]
            if self._came.pop(layer, None) is None:
                self._went.append(instance)

    def _on_outcome(self, request_id: str, outcome: str | dict[str, Any]) -> None:
        """As text: every worker reads thousands of them, and few are ever asked for.

        Earlier versions wrote the object itself.
        """
        text = outcome if isinstance(outcome, str) else encode(outcome).decode()
        self._outcomes[request_id] = text
        while len(self._outcomes) > self._limits.remembered_requests:
            self._outcomes.popitem(last=False)

    def _on_once(self, request_id: str, time: int) -> None:
        self._repeats.add(request_id, time)

    def _on_version(self, uid: str, version: int) -> None:
        if uid in self._of_uid:
            self._versions[uid] = version
        else:
            self._keep_old_version(uid, version)

    def _keep_old_version(self, uid: str, version: int) -> None:
        """Long enough for whoever uses the uid again before its snapshots are looked up anew."""
        self._old_versions[uid] = version
        while len(self._old_versions) > self._limits.remembered_requests:
            self._old_versions.popitem(last=False)

    def _on_tick(
        self, time: int, caught_up: bool = False, left: dict[str, int] | None = None
    ) -> None:
        self.time = max(self.time, time)  # a clock that was set back does not count
        self._repeats.forget(self.time)
        self.watches.on_tick(self.time)
        if left:
            self.watermarks.partitions = sorted(left)
        if left or caught_up:
            self.watermarks.on_tick(self.time, left or {})

    def _on_watermark(
        self,
        dataset: str,
        clock: str,
        time: int | None,
        reached: Reached,
        quiet_since: dict[str, int] | None = None,
    ) -> None:
        if (dataset, clock) not in self._clock_users:  # the last window went meanwhile
            return
        self.watermarks.learn(dataset, clock, reached)
        self.watermarks.learn_quiet(dataset, clock, quiet_since or {})
        if time is not None:
            self.watermarks.set(dataset, clock, time)

    def _on_watch(self, record: dict[str, Any]) -> None:
        self.watches.begin(watching_of(record))

    def _on_unwatch(self, watch: str) -> None:
        self.watches.end(watch)

    def _on_sources(self, record: dict[str, Any]) -> None:
        self.sources.apply(record)

    def _on_answered(self, watch: str, number: int, value: Any, holds: bool | None) -> None:
        self.watches.answered(watch, number, value, holds)

    # -- changing -------------------------------------------------------------------------------

    def create(
        self,
        uid: str,
        wanted: Definition,
        since: int,
        *,
        reuse: bool = False,
        lifetime: int | None = None,
    ) -> tuple[Instance, bool]:
        """The instance of a new uid, and whether it is a new one; Refusal if it cannot be."""
        held = self._of_uid.get(uid)
        definition, signature = self._patterns.complete(self._versioned(wanted, held))
        if held is not None:
            if self.instances[held].definition == definition:
                return self.instances[held], False
            raise Refusal(
                Code.SYNOPSIS_EXISTS,
                f"uid={uid!r} is taken by another definition; delete it first or choose "
                "another uid",
                "uid",
            )
        if len(self._of_uid) >= self._limits.max_synopses:
            raise Refusal(
                Code.LIMIT_EXCEEDED,
                f"there are {len(self._of_uid):,} synopses: the limit is reached",
            )
        self._note_sizes(definition)
        expires = None if lifetime is None else since + lifetime
        number, stream = self._next, definition.stream
        pattern = self._patterns.of(signature)
        same = pattern.numbers.get(stream, []) if pattern is not None else []
        if same and reuse:
            self._change("attach", uid, same[0], expires)
            return self.instances[same[0]], False
        needed = pattern.promise if pattern is not None else self._patterns.promise(definition)
        self._check_bytes(definition.dataset, needed)
        if pattern is None:
            self._change("pattern", number, record_of(definition))
            pattern = self._patterns[number]
        level = self._free_level(stream, same)
        self._change("create", number, pattern.number, stream, since, level, uid, expires)
        return self.instances[number], True

    def _versioned(self, wanted: Definition, held: int | None) -> Definition:
        """What is to be created; a uid that runs keeps its version of a plug-in."""
        running = self.instances[held].pattern.definition.kind if held is not None else ""
        return replace(wanted, kind=running) if running.startswith(f"{wanted.kind}@") else wanted

    def _note_sizes(self, definition: Definition) -> None:
        """What a plug-in says of its sizes is a fact: it is not asked again."""
        remote = self.shelf.remote(definition.kind)
        if remote is not None:
            made = remote(**definition.params).sizes
            if made not in self.shelf.sizes_of(definition.kind):
                self._change("shelf", "made", definition.kind, asdict(made))

    def _free_level(self, stream: str | None, same: list[int]) -> int:
        """The lowest that no instance for the same stream has."""
        if stream is None:
            return 0
        taken = {self.instances[number].level for number in same}
        return next(level for level in range(len(taken) + 1) if level not in taken)

    def _check_bytes(self, dataset: str, needed: int) -> None:
        """What is promised at creation must fit; streams that come later find room or are shed."""
        held = {"max_dataset_bytes": self.promised(dataset), "max_bytes": self.promised()}
        for name, promised in held.items():
            most = getattr(self._limits, name)
            if promised + needed > most:
                raise Refusal(
                    Code.LIMIT_EXCEEDED,
                    f"{needed:,} bytes beside {promised:,} would be more than {name}={most:,};"
                    " delete synopses or take smaller ones",
                    "params",
                )

    def promised(self, dataset: str | None = None) -> int:
        """Bytes that the synopses of a data set, or of all, will surely take."""
        return self._promised.get(dataset, 0)

    def delete(self, uid: str) -> tuple[Instance, bool]:
        """The instance a uid named, and whether that was its last name; it is then forgotten."""
        instance = self.instance(uid)
        self._change("detach", uid)
        return instance, not instance.uids

    def beside(self, instance: Instance, kind: str, params: dict[str, Any]) -> Instance:
        """A new instance for the same tuples, of another kind, which no uid names yet.

        Refusal if it cannot be kept.
        """
        wanted = replace(instance.definition, kind=kind, params=params)
        definition, signature = self._patterns.complete(wanted)
        pattern, number = self._patterns.of(signature), self._next
        self._check_bytes(definition.dataset, self._patterns.promise(definition))
        if pattern is None:
            self._change("pattern", number, record_of(definition))
            pattern = self._patterns[number]
        place = (definition.stream, instance.since, instance.level)
        self._change("create", number, pattern.number, *place)
        return self.instances[number]

    def move(self, number: int, to: int) -> None:
        """Let the uids of an instance name another one; the first is forgotten."""
        self._change("move", number, to)

    def forget(self, number: int) -> None:
        """End an instance that no uid names."""
        self._change("forget", number)

    def shelve(self, *fact: Any) -> None:
        """Change what is known of plug-ins; see `Shelf.apply`."""
        self._change("shelf", *fact)

    def instances_of(self, kind: str) -> list[Instance]:
        """The synopses of a kind, the oldest first."""
        return [i for i in self.instances.values() if i.pattern.definition.kind == kind]

    def users_of(self, kind: str) -> list[str]:
        """The uids whose synopses are of a kind."""
        return [
            u for u, n in self._of_uid.items() if self.instances[n].pattern.definition.kind == kind
        ]

    def remember(self, request_id: str, outcome: Outcome) -> None:
        self._change("outcome", request_id, encode(outcome).decode())

    def check_once(self) -> None:
        """Refusal if there is no room to remember another import or restore."""
        most = self._limits.remembered_states
        if len(self._repeats) >= most and self._repeats.count(self.time) >= most:
            raise Refusal(
                Code.LIMIT_EXCEEDED,
                f"there were {most} imports and restores within 24 hours: whether another one is a "
                "repeat could not be told; wait, or raise remembered_states",
            )

    def remember_once(self, request_id: str, time: int) -> None:
        """A request that must not be carried out again; `time` is its own."""
        self._change("once", request_id, max(time, self.time))

    def next_forgotten(self) -> int | None:
        """When a tick is needed to forget a request."""
        return self._repeats.next_due()

    def was_carried_out(self, request_id: str) -> bool:
        """Within the last day."""
        return self._repeats.knows(request_id, self.time)

    def next_version(self, uid: str) -> int:
        """The number that a snapshot without a name gets."""
        return self._last_version(uid) + 1

    def keep_version(self, uid: str, number: int) -> None:
        self._change("version", uid, max(number, self._last_version(uid)))

    def _last_version(self, uid: str) -> int:
        return self._versions.get(uid, self._old_versions.get(uid, 0))

    def tick(self, time: int, caught_up: bool = False, left: dict[str, int] | None = None) -> None:
        """The clock goes on; `caught_up`: all that had come until then was read.

        `left`: how many messages were not, by partition of the data topics.
        """
        self._change("tick", time, caught_up, left or {})

    def advance(self, dataset: str, clock: str, time: int | None, reached: Reached) -> None:
        """Move a data set's watermark, never back, and keep how far its partitions are."""
        self._change("watermark", dataset, clock, time, reached)

    def watch(self, watching: Watching) -> None:
        if watching.id in self.watches:  # a repeat, so late that its outcome was forgotten
            return
        if len(self.watches) >= self._limits.max_watches:
            raise Refusal(
                Code.LIMIT_EXCEEDED, f"there are {len(self.watches)} watches: the limit is reached"
            )
        self._change("watch", as_fact(watching))

    def unwatch(self, watch: str) -> None:
        if watch not in self.watches:
            raise Refusal(
                Code.UNKNOWN_WATCH,
                f"watch={watch[:80]!r}: expected the id of a watch that runs",
                "watch",
            )
        self._change("unwatch", watch)

    def add_source(self, wanted: Source, time: int) -> None:
        self._set_sources(self.sources.with_source(wanted, time))

    def drop_source(self, name: str) -> None:
        self._set_sources(self.sources.without(name))

    def _set_sources(self, sources: SourceSet) -> None:
        if sources is not self.sources.current:
            self._change("sources", as_fact(sources))

    def answered(self, watch: str, number: int, value: Any, holds: bool | None) -> None:
        if watch in self.watches and number > self.watches.get(watch).number:
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
        return {u: i for u, i in named.items() if dataset in (None, i.pattern.definition.dataset)}

    def outcome(self, request_id: str) -> Outcome | None:
        """Of a request that came before."""
        text = self._outcomes.get(request_id)
        return None if text is None else outcome_of(text)


def _clock_of(pattern: Pattern) -> tuple[str, str] | None:
    """The data set and clock whose watermark the windows of a pattern go by."""
    window = pattern.definition.window
    return None if window is None else (pattern.definition.dataset, window.clock)
