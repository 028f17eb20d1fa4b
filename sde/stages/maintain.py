"""maintain: apply requests, add blocks, answer, for one shard and one micro-batch.

    requests, blocks of one shard ──> Maintain ──> partials, reports (next stage: merge), log entry

Order: what came round the loop first (time, watermarks), then requests in the order of their
topic; the batch's data is added once, just before the first request that reads, or at the end. So
an answer sees all data of its batch, and so does a synopsis that was created before the first
reading request. Watches that are due are answered last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import orjson

from sde.federation import maintain as clerk
from sde.federation import maintain_watches as standing
from sde.infore import is_infore, native_messages
from sde.limits import StateLimits
from sde.plugins.trust import Trust
from sde.records.arrived import Arrived
from sde.records.partial import Partial
from sde.requests.answering import READS, decoded, refused, say
from sde.requests.changing import CHANGES, Changes
from sde.requests.each import EachWatcher
from sde.requests.plugging import distrusted, settle
from sde.requests.questions import Said
from sde.requests.watching import Watcher
from sde.shard.keeper import ShardCode
from sde.shard.shard import Shard
from sde.shard.versions import Library
from sde.storage.store import Store
from sde.tuples.block import Block, completed
from sde.tuples.needs import Wanted
from sde.wire import (
    Create,
    Definition,
    Delete,
    Fault,
    Plugin,
    Refusal,
    Unplug,
    Unwatch,
    Watch,
)
from sde.wire.framing import pack, unpack
from sde.wire.loop import (
    Admitted,
    Again,
    Answered,
    Due,
    Failed,
    Loop,
    Progress,
    Reached,
    Tick,
    decode_loop,
    loop_json,
)
from sde.wire.windows import ARRIVAL

LOG_FORMAT = 2
_NEEDS_NO_DATA = (Create, Delete, Watch, Unwatch, Plugin, Unplug)
_ARRIVAL_SLACK = 5_000  # ms that an arrival may be behind the clock of the engine


class Maintain:
    """The stage over one shard; `entry` is what the log keeps of the batch, empty if nothing."""

    def __init__(
        self,
        shard: Shard,
        batch: int,
        library: Library | None = None,
        trust: Trust = Trust(),  # noqa: B008
    ) -> None:
        self._shard, self._batch, self._trust = shard, batch, trust
        self._changes = Changes(shard, library)
        self._watcher = Watcher(shard, batch)
        self._partials: list[Partial] = []
        self._blocks: list[Block] = []
        self._before: list[Arrived] = []
        self._after: list[Arrived] = []
        self._kept: list[bytes] | None = None  # blocks, once they are added
        self._due: list[str] = []  # watches to be answered
        self.entry = b""
        self.reports: list[Progress | Due | Failed] = []  # to the loop

    def on_batch(self, arrived: Sequence[Arrived], blocks: Sequence[Block]) -> list[Partial]:
        shard = self._shard
        need = self._next_due()
        self._blocks = list(blocks)
        ticked, again = self._on_loop([a for a in arrived if a.loop])
        for one in [*again, *(a for a in arrived if not a.loop)]:
            self._on_request(one)
        self._add()
        self._partials += EachWatcher(shard, self._batch).answers(self._blocks)
        self._partials += self._watcher.answers(self._due)
        self._partials += standing.answers(shard, self._watcher, self._due, self._batch)
        clerk.close_ended(shard)
        self._partials += self._watcher.ended()
        self._partials += clerk.answers(shard, self._batch)
        self._note_failures()
        self._report({block.dataset for block in self._blocks})
        due = self._next_due()
        if shard.number == 0 and (ticked or due != need):
            self.reports.append(Due(due))
        if self._before or self._after or self._kept:
            self.entry = _pack_entry(self._before, self._after, self._kept or [])
        shard.save()
        return self._partials

    @property
    def wanted(self) -> Wanted:
        """What has to be kept of tuples from now on."""
        return self._shard.wanted

    def _next_due(self) -> int | None:
        """All shards wait for the same: one of them looks, and says it for all."""
        return self._shard.next_due() if self._shard.number == 0 else None

    # -- the loop --------------------------------------------------------------------------------

    def _on_loop(self, arrived: list[Arrived]) -> tuple[bool, list[Arrived]]:
        """Learn what all shards learn together: whether the clock moved, what is asked again."""
        ticks, asked_again = [], []
        for one in arrived:
            if one.federated is not None:
                if clerk.note(self._shard, one):
                    self._before.append(one)
                continue
            message = _loop(one)
            match message:
                case Again():
                    asked = Arrived.from_json(message.arrived)
                    if isinstance(decoded(asked), READS):  # nothing is changed by this way
                        asked_again.append(replace(asked, at=message.at))
                case Tick():
                    ticks.append((one, message))
                case Progress() | Answered() | Failed():
                    self._turn(one, message)
                case Admitted():
                    self._on_admitted(one, message)
        if ticks:  # those that waited for each other count as one
            self._turn(*max(ticks, key=lambda tick: tick[0].position))
            self._due += self._shard.registry.watches.due
        return bool(ticks), asked_again

    def _turn(self, arrived: Arrived, message: Loop) -> None:
        self._before.append(arrived)
        if isinstance(message, Progress) and message.changed:
            self._due += self._watcher.changed(message.dataset)
        self._partials += turn(self._shard, message, self._watcher)

    def _on_admitted(self, one: Arrived, message: Admitted) -> None:
        """A plug-in was examined: its request gets its reply."""
        shard = self._shard
        message = distrusted(shard.registry, message, self._trust)
        self._before.append(replace(one, message=loop_json(message, _checkpoint(one))))
        settled = settle(shard.registry, message, shard.limits)
        if settled is not None:
            request, outcome = settled
            self._partials.append(
                Partial(request, shard.number, shard.of, self._batch, outcome, [])
            )

    def _note_failures(self) -> None:
        """Plug-ins that misbehaved here are quarantined in all shards, and after a replay."""
        failures, self._shard.failures = self._shard.failures, []
        for failure in failures:
            told = Failed(failure.kind, failure.reason)
            self.reports.append(told)
            logged = Arrived("", self._shard.registry.time, loop_json(told, "-"), loop=True)
            (self._before if self._kept is None else self._after).append(logged)

    # -- requests --------------------------------------------------------------------------------

    def _on_request(self, one: Arrived) -> None:
        """One partial for a request, also if it means several things to be done."""
        if clerk.note(self._shard, one):
            (self._before if self._kept is None else self._after).append(one)
        head: dict[str, Any] = {"ok": {}}  # nothing to be done: acknowledged
        parts: list[bytes] = []
        last = one
        for meant in self._meant(one) if clerk.contributes(one) else ():
            last = meant
            head, parts = self._carry_out(meant)
            if "fault" in head:
                break
        shard = self._shard
        head = clerk.with_traffic(shard, one, head)
        self._partials.append(Partial(last, shard.number, shard.of, self._batch, head, parts))

    def _meant(self, one: Arrived) -> Iterator[Arrived]:
        """What a request asks for, in the native dialect."""
        message = one.message
        if message is None or not is_infore(message):
            yield one
            return
        try:
            for native in native_messages(message, one.place, self._running):
                yield replace(one, message=native, infore=message)
        except Refusal as refusal:
            yield replace(one, message=None, infore=message, fault=refusal.fault)

    def _running(self, uid: str) -> Definition | None:
        found = self._shard.registry.find(uid)
        return found.definition if found else None

    def _carry_out(self, one: Arrived) -> Said:
        request = decoded(one)
        if not isinstance(request, (*_NEEDS_NO_DATA, Fault)):
            self._add()
        if isinstance(request, Fault):
            return refused(request)
        if isinstance(request, READS):
            return say(self._shard, request, one)
        assert isinstance(request, CHANGES)
        head, logged = self._changes.carry_out(request, replace(one, federated=None))
        (self._before if self._kept is None else self._after).append(logged)
        self._note_failures()
        return head, []

    # -- data ------------------------------------------------------------------------------------

    def _add(self) -> None:
        """Add the blocks, once; the log keeps what was used of them.

        Ingest knows what was needed a moment ago: a block is read again if more is needed now.
        """
        if self._kept is not None:
            return
        kept = []
        wanted = self._shard.wanted
        self._blocks = completed(self._blocks, wanted)
        for block in self._blocks:
            needs = wanted.get(block.dataset)
            if needs is not None:
                used = block.select(needs)
                self._shard.add(used)
                kept.append(used.to_bytes(compress=True))
        self._note_failures()  # in front of the data: a replay does not try it again
        self._kept = kept

    def _report(self, datasets: set[str]) -> None:
        for dataset in sorted(datasets):
            clocks = self._shard.clocks(dataset)
            changed = bool(self._watcher.changed(dataset))
            if clocks or changed:
                self.reports.append(Progress(dataset, clocks, changed))


def turn(shard: Shard, message: Loop, watcher: Watcher | None = None) -> list[Partial]:
    """Let time go on at a shard, and say what watches want to hear when windows close."""
    said: list[Partial] = []

    def advance(dataset: str, clock: str, time: int, reached: Reached) -> None:
        before = shard.registry.watermarks.get(dataset, clock)
        if watcher is not None and (before is None or time > before):
            said.extend(watcher.closing(dataset, clock, before, time))
        shard.advance(dataset, clock, time, reached)

    match message:
        case Tick(time, caught_up):
            shard.tick(time)
            if caught_up:
                for dataset, clock in shard.clocks_of(ARRIVAL):
                    advance(dataset, clock, shard.registry.time - _ARRIVAL_SLACK, {})
        case Progress(dataset, clocks, _):
            for clock, reached in clocks.items():
                time = shard.registry.watermarks.after(dataset, clock, reached)
                advance(dataset, clock, time, reached)
        case Answered(watch, number, value, holds):
            shard.registry.answered(watch, number, value, holds)
        case Admitted():
            settle(shard.registry, message, shard.limits)
        case Failed(kind, reason):
            if kind in shard.registry.shelf.versions:
                shard.registry.shelve("quarantined", kind, reason)
    return said


def _loop(arrived: Arrived) -> Loop:
    """Ingest let it through: it is one, and ours."""
    return decode_loop(arrived.message or {}, _checkpoint(arrived))


def _checkpoint(arrived: Arrived) -> str:
    return str((arrived.message or {}).get("checkpoint", ""))


# -- the log ------------------------------------------------------------------------------------


def _pack_entry(before: list[Arrived], after: list[Arrived], blocks: list[bytes]) -> bytes:
    head = {
        "format": LOG_FORMAT,
        "before": [a.as_json() for a in before],
        "after": [a.as_json() for a in after],
    }
    return pack([orjson.dumps(head), *blocks])


def open_shard(number: int, of: int, store: Store, limits: StateLimits) -> Shard:
    """A shard with everything that this stage keeps in it."""
    return Shard(number, of, store, limits, clerk.beside(number))


def replay(shard: Shard, entry: bytes) -> None:
    """Do again what a batch did to a shard: same state, byte for byte."""
    described, *blocks = unpack(entry)
    head = orjson.loads(described)
    if head["format"] != LOG_FORMAT:
        raise ValueError(f"the log has format {head['format']}, this version reads {LOG_FORMAT}")
    _change_all(shard, head["before"])
    for block in blocks:
        shard.add(Block.from_bytes(block))
    _change_all(shard, head["after"])
    clerk.forget_words(shard)
    shard.save()


def _change_all(shard: Shard, held: list[dict[str, Any]]) -> None:
    changes = Changes(shard, None)
    for arrived in map(Arrived.from_json, held):
        if arrived.federated is not None:
            clerk.note(shard, arrived)
            continue
        if arrived.loop:
            turn(shard, _loop(arrived))
            continue
        request = decoded(arrived)
        assert isinstance(request, CHANGES)
        changes.carry_out(request, arrived)


SHARD_CODE = ShardCode(open_shard, replay)
