"""maintain: apply requests, add blocks, answer, for one shard and one micro-batch.

    requests, blocks of one shard ──> Maintain ──> partials, reports (next stage: merge), log entry

Order: what came round the loop first (time, watermarks), then requests in the order of their
topic; the batch's data is added once, just before the first request that reads, or at the end. So
an answer sees all data of its batch, and so does a synopsis that was created before the first
reading request. Watches that are due are answered last.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import assert_never

from msgspec.structs import replace

from sde.federation import maintain as federation
from sde.federation import maintain_watches as federation_watches
from sde.federation.ingest import stray
from sde.infore import translate
from sde.limits import StateLimits
from sde.records.arrived import Arrived, FromSite, FromSource, Told
from sde.records.asked import AnyAsked, Asked, AskedInfore, Unreadable
from sde.records.loop import (
    Admit,
    Admitted,
    Again,
    Answered,
    AskedEach,
    Decided,
    Due,
    Failed,
    Loop,
    Noted,
    Progress,
    Reached,
    Report,
    Sourced,
    Tick,
)
from sde.records.partial import Partial, Reply, Subject
from sde.records.position import Position
from sde.records.result import Done, Refused, Result
from sde.requests import source_list
from sde.requests.answering import answer
from sde.requests.changing import CHANGES, Changes
from sde.requests.each import EachWatcher
from sde.requests.noting import keys_of, note, notes
from sde.requests.plugging import require_welcome, settle, still_welcome
from sde.requests.taking_over import begin, conclude, takes_over
from sde.requests.watching import Watcher
from sde.shard.keeper import ShardCode
from sde.shard.shard import Shard
from sde.shard.versions import Versions
from sde.stages.log import Entry, pack_entry, unpack_entry
from sde.storage.store import Store
from sde.tuples.block import Block, completed
from sde.tuples.joining import joined
from sde.tuples.needs import NeedsByDataset
from sde.wire import (
    Definition,
    Plugin,
    Refusal,
    Release,
    Unplug,
)
from sde.wire.requests import NEED_NO_DATA, READS
from sde.wire.windows import ARRIVAL

_log = logging.getLogger(__name__)
_ARRIVAL_SLACK = 5_000  # ms that an arrival may be behind the clock of the engine
# Batches after which what one told the next has been read. (It waits while the safety net cuts a
# batch that dies into hundreds of small ones.)
_LONGEST_ROUND = 1_000
_NOWHERE = Position("", 0, 0)  # of what a shard noticed by itself


class Maintain:
    """The stage over one shard; `entry` is what the log keeps of the batch, empty if nothing."""

    def __init__(
        self,
        shard: Shard,
        batch: int,
        versions: Versions | None = None,
    ) -> None:
        self._shard, self._batch = shard, batch
        self._changes = Changes(shard, versions, batch)
        self._watcher = Watcher(shard, batch)
        self._partials: list[Partial] = []
        self._blocks: list[Block] = []
        self._before: list[Arrived] = []  # for the log: applied before the data
        self._after: list[Arrived] = []
        self._added: list[bytes] | None = None  # blocks, once they are added
        self._not_repeatable: set[str] = set()  # kinds whose states the log must keep
        self._tries: list[tuple[Told, Admitted]] = []  # versions of plug-ins, after the data
        self._due: list[str] = []  # watches to be answered
        self._each: list[AskedEach] = []  # keys that watches have not answered for
        self.entry = b""
        self.reports: list[Report] = []  # to the loop
        self.left_out: Counter[str] = Counter()  # tuples of this batch, by reason; for operators

    def on_batch(self, arrived: Sequence[Arrived], blocks: Sequence[Block]) -> list[Partial]:
        shard = self._shard
        need = self._next_due()
        sources = shard.registry.sources.current
        self._blocks = list(blocks)
        ticked, again = self._on_loop(arrived)
        for one in (*again, *arrived):
            match one:
                case Asked() | AskedInfore() | Unreadable():
                    self._on_request(one)
                case Told() | FromSite() | FromSource():
                    pass
                case never:
                    assert_never(never)
        self._add()
        for told, admitted in self._tries:
            self._try(told, admitted)
        self._partials += EachWatcher(shard, self._batch).answers(self._blocks, self._each)
        self._partials += self._watcher.answers(self._due)
        self._partials += federation_watches.answers(shard, self._watcher, self._due, self._batch)
        federation.close_ended(shard)
        self._partials += self._watcher.ended()
        self._partials += federation.answers(shard, self._batch)
        self._changes.versioning.sweep()
        self._note_failures()
        self._report({block.dataset for block in self._blocks})
        due = self._next_due()
        if shard.number == 0 and (ticked or due != need):
            self.reports.append(Due(at=due))
        if shard.number == 0 and shard.registry.sources.current is not sources:
            self.reports.append(Sourced(sources=shard.registry.sources.current))
        if self._before or self._after or self._added:
            states = {kind: shard.states_of(kind) for kind in sorted(self._not_repeatable)}
            self.entry = pack_entry(Entry(self._before, self._added or [], self._after, states))
        shard.save()
        return self._partials

    @property
    def wanted(self) -> NeedsByDataset:
        """What has to be kept of tuples from now on."""
        return self._shard.wanted

    def _next_due(self) -> int | None:
        """All shards wait for the same: one of them looks, and says it for all."""
        return self._shard.next_due() if self._shard.number == 0 else None

    def _log(self, arrived: Arrived) -> None:
        (self._before if self._added is None else self._after).append(arrived)

    # -- the loop --------------------------------------------------------------------------------

    def _on_loop(self, arrived: Sequence[Arrived]) -> tuple[bool, list[Asked]]:
        """Learn what all shards learn together: whether the clock moved, what is asked again."""
        ticks: list[tuple[Told, Tick]] = []
        again: list[Asked] = []
        stale: list[Told | FromSite] = []
        for one in arrived:
            if isinstance(one, Told | FromSite) and self._is_stale(one.batch):
                stale.append(one)
            elif isinstance(one, FromSite):
                if self._shard.number == 0:
                    federation.note_message(self._shard, one)
                    self._before.append(one)
            elif isinstance(one, FromSource):
                source_list.note_refused(self._shard, one)
                self._before.append(one)
            elif isinstance(one, Told):
                match one.message:
                    case Tick() as tick:
                        ticks.append((one, tick))
                    case Again(asked=asked, at=at):
                        if isinstance(asked.request, READS):  # nothing is changed by this way
                            again.append(replace(asked, at=at))
                    case AskedEach() as asked_each:
                        self._each.append(asked_each)
                    case Progress() | Answered() | Failed() as message:
                        self._apply(one, message)
                    case Admitted() as admitted:
                        self._on_admitted(one, admitted)
                    case Decided() as decided:
                        self._on_decided(one, decided)
                    case Due() | Admit() | Noted() | Sourced():
                        pass
                    case never:
                        assert_never(never)
        if stale:
            self._on_stale(stale)
        if ticks:  # those that waited for each other count as one
            self._apply(*max(ticks, key=lambda tick: tick[0].position))
            self._due += self._shard.registry.watches.due
        return bool(ticks), again

    def _is_stale(self, batch: int | None) -> bool:
        """Whether a batch wrote this so long ago that it is a copy of what was read then."""
        return batch is not None and not 0 < self._batch - batch <= _LONGEST_ROUND

    def _on_stale(self, stale: list[Told | FromSite]) -> None:
        if self._shard.number == 0:
            last = stale[-1]
            _log.warning("%d copies of old messages dropped (%s)", len(stale), last.position)
            counted = stray(last.position, last.time, count=len(stale))
            federation.note_message(self._shard, counted)
            self._before.append(counted)

    def _apply(self, told: Told, message: Loop) -> None:
        self._before.append(told)
        if isinstance(message, Failed) and message.kind not in self._shard.registry.shelf.reasons:
            self._note_quarantine(message)
        if isinstance(message, Progress) and message.changed:
            self._due += self._watcher.changed(message.dataset)
        self._partials += apply_loop(self._shard, message, self._watcher)

    def _on_admitted(self, told: Told, message: Admitted) -> None:
        """A plug-in was examined: its request gets its reply."""
        shard = self._shard
        message = still_welcome(shard.registry, told, message)
        if takes_over(message):
            self._tries.append((replace(told, message=message, trusted=None), message))
            return
        self._before.append(replace(told, message=message, trusted=None))
        settled = settle(shard.registry, message, shard.limits)
        if settled is not None:
            self._reply(*settled)
            self._note(*settled)

    def _try(self, told: Told, message: Admitted) -> None:
        """A plug-in was examined that takes over synopses: merge decides from what is found here.

        After the data, so that nothing is added to them before the log has their states.
        """
        shard = self._shard
        self._log(told)
        tried = begin(shard, message)
        if tried is not None:
            self._reply(*tried)
            self._note(*tried)
            of_request = message.request
            kinds = {t.kind for t in shard.registry.shelf.tried.values() if t.request == of_request}
            self._not_repeatable |= kinds
            self._note_failures()

    def _on_decided(self, told: Told, message: Decided) -> None:
        """What was tried is taken or not: its request gets its reply."""
        self._before.append(told)
        concluded = conclude(self._shard, message)
        if concluded is not None:
            self._reply(*concluded)
            self._note(*concluded)

    def _note(self, asked: Asked, result: Result, keys: dict[str, str] | None = None) -> None:
        """What became of a plug-in goes to the log of the service; one shard says it for all."""
        request, shelf = asked.request, self._shard.registry.shelf
        if self._shard.number == 0 and isinstance(request, Plugin | Unplug | Release):
            self.reports += notes(request, result, keys or keys_of(shelf))

    def _note_failures(self) -> None:
        """Plug-ins that misbehaved here are quarantined in all shards, and after a replay."""
        failures, self._shard.failures = self._shard.failures, []
        for failure in failures:
            failed = Failed(kind=failure.kind, reason=failure.reason)
            self.reports.append(failed)
            self._note_quarantine(failed)
            self._log(Told(position=_NOWHERE, time=self._shard.registry.time, message=failed))

    def _note_quarantine(self, failed: Failed) -> None:
        """One shard says it when it learns of it. A version that is tried is refused, no more."""
        shelf = self._shard.registry.shelf
        keys = keys_of(shelf)
        if self._shard.number == 0 and failed.kind in keys and failed.kind not in shelf.tried:
            self.reports.append(note("quarantined", failed.kind, keys, failed.reason))

    # -- requests --------------------------------------------------------------------------------

    def _on_request(self, asked: AnyAsked) -> None:
        """One partial for a request, also if it means several things to be done."""
        if federation.note_request(self._shard, asked):
            self._log(asked)
        if not federation.contributes(asked):
            self._reply(asked, Done())
            return
        match asked:
            case Asked():
                self._reply(asked, self._carry_out(asked))
            case AskedInfore():
                self._on_infore(asked)
            case Unreadable():
                self._reply(asked, Refused(asked.fault))
            case never:
                assert_never(never)

    def _on_infore(self, asked: AskedInfore) -> None:
        """What it asks for, one after the other until one is refused; at least acknowledged."""
        position, time, message = asked.position, asked.time, asked.message
        try:
            requests = translate(message, str(position), self._running)
        except Refusal as refusal:
            fault = refusal.fault
            self._reply(
                Unreadable(position=position, time=time, fault=fault, infore=message),
                Refused(fault),
            )
            return
        last: AnyAsked = asked
        result: Result = Done()
        for request in requests:
            last = Asked(
                position=position,
                time=time,
                request=request,
                attached=asked.attached,
                infore=message,
            )
            result = self._carry_out(last)
            if isinstance(result, Refused):
                break
        self._reply(last, result)

    def _running(self, uid: str) -> Definition | None:
        found = self._shard.registry.find(uid)
        return found.definition if found else None

    def _carry_out(self, asked: Asked) -> Result:
        request = asked.request
        if not isinstance(request, NEED_NO_DATA):
            self._add()
        if isinstance(request, READS):
            return answer(self._shard, request, asked)
        assert isinstance(request, CHANGES)
        registry = self._shard.registry
        if isinstance(request, Plugin):
            try:
                require_welcome(registry, request, asked.attached.fault)
            except Refusal as refusal:
                refused = Refused(refusal.fault)
                self._note(asked, refused)
                return refused
        keys: dict[str, str] | None = None
        if isinstance(request, Unplug | Release) and registry.outcome(request.id) is None:
            keys = keys_of(registry.shelf)
        outcome, logged = self._changes.carry_out(request, replace(asked, role=None))
        self._log(logged)
        self._note_failures()
        if keys is not None:
            self._note(asked, outcome, keys)
        return outcome

    def _reply(self, asked: AnyAsked, result: Result) -> None:
        shard = self._shard
        self._partials.append(
            Reply(
                subject=Subject.of(asked.position),
                shard=shard.number,
                of=shard.of,
                batch=self._batch,
                time=shard.registry.time,
                asked=asked,
                result=result,
                received=federation.received_from(shard, asked),
            )
        )

    # -- data ------------------------------------------------------------------------------------

    def _add(self) -> None:
        """Add the blocks, once; the log keeps what was used of them.

        Ingest knows what was needed a moment ago: a block is read again if more is needed now.
        """
        if self._added is not None:
            return
        added = []
        wanted = self._shard.wanted
        self._blocks = completed(self._blocks, wanted)
        used = [
            block.select(needs)
            for block in self._blocks
            if (needs := wanted.get(block.dataset)) is not None
        ]
        self._shard.left_out.clear()
        for block in joined(used):
            self._shard.add(block)
            added.append(block.to_bytes(compress=True))
        self.left_out = +self._shard.left_out
        # In front of the data: a replay does not try it again, and takes the states as they are.
        self._not_repeatable |= {failure.kind for failure in self._shard.failures}
        self._note_failures()
        self._added = added

    def _report(self, datasets: set[str]) -> None:
        for dataset in sorted(datasets):
            clocks = self._shard.clocks(dataset)
            changed = bool(self._watcher.changed(dataset))
            if clocks or changed:
                self.reports.append(Progress(dataset=dataset, clocks=clocks, changed=changed))


def apply_loop(shard: Shard, message: Loop, watcher: Watcher | None = None) -> list[Partial]:
    """Apply what the loop says; partials for the watches whose windows close by it."""
    partials: list[Partial] = []

    def advance(dataset: str, clock: str, time: int | None, reached: Reached) -> None:
        if shard.is_arrival_of_the_future(dataset, clock, time):
            # Somebody's clock is wrong. Ticks move this one on.
            time = shard.registry.time - _ARRIVAL_SLACK
        before = shard.registry.watermarks.get(dataset, clock)
        if watcher is not None and time is not None and (before is None or time > before):
            partials.extend(watcher.closing(dataset, clock, before, time))
        shard.advance(dataset, clock, time, reached)

    match message:
        case Tick(time=time, caught_up=caught_up, left=left):
            # One that is not later than the last may be a copy, from when all had been read.
            is_later = time > shard.registry.time
            shard.tick(time, caught_up and is_later, left if is_later else {})
            if caught_up and is_later:
                for dataset, clock in shard.clocks_of(ARRIVAL):
                    advance(dataset, clock, shard.registry.time - _ARRIVAL_SLACK, {})
            if left and is_later:
                for dataset, clock, known in shard.registry.watermarks.behind():
                    advance(dataset, clock, known, {})
        case Progress(dataset=dataset, clocks=clocks):
            watermarks = shard.registry.watermarks
            for clock, news in clocks.items():
                reached = watermarks.beginning(dataset, clock, news)
                advance(dataset, clock, watermarks.after(dataset, clock, reached), reached)
        case Answered(watch=watch, number=number, value=value, holds=holds):
            shard.registry.answered(watch, number, value, holds)
        case Admitted() if takes_over(message):
            begin(shard, message, replaying=True)
        case Admitted():
            settle(shard.registry, message, shard.limits)
        case Decided():
            conclude(shard, message)
        case Failed(kind=kind, reason=reason):
            if kind in shard.registry.shelf.versions:
                shard.registry.shelve("quarantined", kind, reason)
        case Again() | AskedEach() | Due() | Admit() | Noted() | Sourced():
            pass
        case never:
            assert_never(never)
    return partials


# -- opening and replaying a shard ----------------------------------------------------------------


def open_shard(number: int, of: int, store: Store, limits: StateLimits) -> Shard:
    """A shard with everything that this stage keeps in it."""
    beside = {**federation.beside(number), **source_list.beside(number)}
    return Shard(number, of, store, limits, beside)


def replay(shard: Shard, entry: bytes) -> None:
    """Do again what a batch did to a shard: same state, byte for byte."""
    before, blocks, after, states = unpack_entry(entry)
    _apply_all(shard, before)
    for block in blocks:
        shard.add(Block.from_bytes(block))
    _apply_all(shard, after)
    for kind, held in states.items():
        shard.put_states_of(kind, held)
    federation.forget_answers(shard)
    shard.forget_progress()
    shard.save()


def _apply_all(shard: Shard, logged: list[Arrived]) -> None:
    changes = Changes(shard, None)
    for arrived in logged:
        match arrived:
            case FromSite():
                federation.note_message(shard, arrived)
            case FromSource():
                source_list.note_refused(shard, arrived)
            case Told(message=message):
                apply_loop(shard, message)
            case Asked(role=None, request=request):
                assert isinstance(request, CHANGES)
                changes.carry_out(request, arrived)
            case Asked():
                federation.note_request(shard, arrived)
            case AskedInfore() | Unreadable():
                raise AssertionError("what changes nothing is not in the log")
            case never:
                assert_never(never)


SHARD_CODE = ShardCode(open_shard, replay)
