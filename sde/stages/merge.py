"""merge: all partials of a request become its one reply.

    partials of one request, from every shard ──> Merge ──> reply
    reports of all shards ────────────────────────────────> the loop (union topic)

States are merged, then asked; estimates are never added up. A set that lacks a shard's partial
is refused with a fault instead of being answered wrongly.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, assert_never

import msgspec

from sde.federation.merge import SitesMerge
from sde.federation.merge_watches import SitesWatch
from sde.federation.peers import Peers
from sde.federation.sending import Sender
from sde.plugins.failure import PluginFailure
from sde.records.asked import Asked, AskedInfore, Unreadable
from sde.records.loop import (
    Admit,
    Again,
    Decided,
    Due,
    Failed,
    Noted,
    Progress,
    Reached,
    Report,
    Sourced,
)
from sde.records.outgoing import LoopWriter, Outgoing
from sde.records.partial import (
    EachStates,
    Partial,
    Reply,
    SiteContributions,
    SiteWatchStates,
    SiteWatchUnknown,
    Subject,
    WatchEnded,
    WatchStates,
)
from sde.records.result import (
    Done,
    Figures,
    PluginList,
    Refused,
    Result,
    States,
    Table,
    Tried,
    VersionList,
    Waits,
    WatchList,
)
from sde.registry.watermarks import later
from sde.requests.boundary import fault_of
from sde.requests.completeness import require_all
from sde.requests.digests import digest_of, digest_of_streams
from sde.requests.gathered import Gathered, WindowsDiffer
from sde.requests.tables import joined
from sde.requests.watch_list import shown
from sde.stages.watch_answers import WatchAnswers
from sde.stages.writer import ReplyWriter
from sde.wire import (
    Ask,
    Code,
    Export,
    Fault,
    ListAll,
    Plugin,
    Refusal,
    ReplyFields,
    Request,
    Streams,
    answer,
    refusal,
    unreadable,
)

P = TypeVar("P", bound=Partial)


class Merge:
    """The stage for one batch, at the site that `peers` names as its own.

    `has_log`: there is a topic for INFORE's log. `loop` seals what goes round it.
    """

    def __init__(self, peers: Peers, loop: LoopWriter, has_log: bool = False) -> None:
        self._site = peers.site
        self._writer = ReplyWriter(peers.site, has_log, loop)
        sender = Sender(peers, loop)
        self._sites = SitesMerge(peers, sender, self._quarantine)
        self._site_watches = SitesWatch(peers, sender, self._quarantine)
        self._failures: dict[str, str] = {}  # of plug-ins, met in this batch, by kind

    def on_partials(self, partials: Iterable[Partial]) -> Iterator[Outgoing]:
        """The replies to all requests in a set of partials, in the order of their subjects."""
        self._failures = {}
        watches = WatchAnswers(self._writer, self._quarantine)
        by_subject: dict[Subject, list[Partial]] = defaultdict(list)
        for partial in partials:
            by_subject[partial.subject].append(partial)
        for subject in sorted(by_subject):
            same = sorted(by_subject[subject], key=lambda partial: partial.shard)
            yield from self._on_subject(same, watches)
        for kind, reason in self._failures.items():
            yield self._writer.to_loop(Failed(kind=kind, reason=reason))

    def _on_subject(self, same: list[Partial], watches: WatchAnswers) -> Iterator[Outgoing]:
        """All partials of a subject are of one class; the first tells which."""
        match same[0]:
            case Reply(asked=Asked(role=role) as asked) if role is not None:
                yield from self._sites.contribute(asked, role, _all(Reply, same))
            case Reply():
                yield self._reply(_all(Reply, same))
            case WatchStates():
                yield from watches.on_due(_all(WatchStates, same))
            case EachStates():
                yield from watches.on_each(_all(EachStates, same))
            case WatchEnded(watch=watching) as ended:
                standing = watching.standing
                if standing is not None:
                    yield from self._site_watches.on_end(watching, standing, ended.time)
                if standing is None or standing.by == self._site:
                    yield watches.on_ended(ended)
            case SiteWatchStates():
                yield from self._site_watches.on_due(_all(SiteWatchStates, same))
            case SiteWatchUnknown() as unknown:
                yield from self._site_watches.on_unknown(unknown)
            case SiteContributions() as contributions:
                yield self._sites.reply(contributions)
            case never:
                assert_never(never)

    def on_reports(self, reports: Iterable[Report]) -> Iterator[Outgoing]:
        """What the shards shall learn in the next batch."""
        clocks: dict[str, dict[str, Reached]] = defaultdict(dict)
        changed: dict[str, bool] = defaultdict(bool)
        for report in reports:
            match report:
                case Due() | Failed() | Noted() | Sourced():
                    yield self._writer.to_loop(report)
                case Progress():
                    changed[report.dataset] |= report.changed
                    known = clocks[report.dataset]
                    for clock, reached in report.clocks.items():
                        known[clock] = later(known.get(clock, {}), reached)
                case never:
                    assert_never(never)
        for dataset in sorted(clocks):
            progress = Progress(dataset=dataset, clocks=clocks[dataset], changed=changed[dataset])
            yield self._writer.to_loop(progress)

    def _quarantine(self, failure: PluginFailure) -> Fault:
        """The shards learn of it; what the user is told."""
        self._failures.setdefault(failure.kind, failure.reason)
        return Fault(Code.QUARANTINED, f"{failure.kind} misbehaved: {failure.reason}", "kind")

    # -- replies ---------------------------------------------------------------------------------

    def _reply(self, partials: list[Reply]) -> Outgoing:
        first = partials[0]
        match first.asked:
            case Asked() as asked:
                return self._reply_to(asked, partials)
            case AskedInfore(message=message, time=time):  # nothing was to be done
                return self._writer.reply({"status": "ok", "op": None}, "", message, time)
            case Unreadable() as unknown:
                name = unknown.id or str(unknown.position)
                fields = unreadable(name, unknown.fault, first.batch, self._site)
                return self._writer.reply(fields, "", unknown.infore, unknown.time)
            case never:
                assert_never(never)

    def _reply_to(self, asked: Asked, partials: list[Reply]) -> Outgoing:
        request, batch = asked.request, partials[0].batch
        if isinstance(partials[0].result, Tried):
            return self._writer.to_loop(Decided(request=request.id, fault=_fault_of_one(partials)))
        try:
            results = require_all(partials)
            if isinstance(results[0], Waits):
                assert isinstance(request, Plugin)
                admit = Admit(request=request, predecessor=results[0].predecessor)
                return self._writer.to_loop(admit)
            fields = answer(request, batch, self._site, **_fields(request, results))
        except WindowsDiffer as differ:
            return self._writer.to_loop(Again(asked=asked, at=differ.latest))
        except Exception as error:
            fault = fault_of(error, request, self._quarantine)
            fields = refusal(request, fault, batch, self._site)
        named = {"uid": request.named or None, **fields}
        return self._writer.reply(named, request.named, asked.infore, asked.time)


def _fault_of_one(partials: list[Reply]) -> Fault | None:
    """Why a version of a plug-in is not taken: one shard that cannot is enough."""
    try:
        tried = _of(Tried, require_all(partials))
    except Refusal as refusal:
        return refusal.fault
    return next((one.fault for one in tried if one.fault is not None), None)


def _all(kind: type[P], partials: list[Partial]) -> list[P]:
    return [partial for partial in partials if isinstance(partial, kind)]


def _fields(request: Request, results: list[Result]) -> ReplyFields:
    """What the reply to a request says, from the results of all shards."""
    match results[0]:
        case States():
            return _answer(request, _of(States, results))
        case Table():
            assert isinstance(request, Ask | Streams)
            return joined(request, _of(Table, results))
        case Figures():
            shards = _of(Figures, results)
            described = _described(shards)
            if not isinstance(request, ListAll):
                return {"value": described[0]}
            following = {"next": shards[0].next} if shards[0].next else {}
            return {"value": described, **following}
        case PluginList(plugins=plugins):
            return {"value": msgspec.to_builtins(plugins)}
        case VersionList(versions=versions):
            return {"value": [version.listed() for version in versions]}
        case WatchList(watches=watches, next=following):
            more = {"next": following} if following else {}
            return {"value": [shown(watching) for watching in watches], **more}
        case Done() as done:
            return done.fields()
        case Refused(fault=fault):
            raise Refusal.of(fault)
        case Waits() | Tried():
            raise AssertionError("it has no reply yet")
        case never:
            assert_never(never)


R = TypeVar("R", bound=Result)


def _of(kind: type[R], results: list[Result]) -> list[R]:
    return [result for result in results if isinstance(result, kind)]


def _answer(request: Request, states: list[States]) -> ReplyFields:
    match request:
        case Ask():
            return Gathered(states, request.span).answer(request)
        case Export():
            gathered = Gathered(states, request.span)
            gathered.require_stream(request.stream)
            fields = gathered.fields(request.stream)
            merged: Any = gathered.merged[0]
            native = request.format == "native"
            state = merged.to_bytes() if native else merged.to_datasketches()
            return {**fields, "format": request.format, "value": base64.b64encode(state).decode()}
        case _:
            raise AssertionError(f"{request.op} is not about states")


def _described(shards: list[Figures]) -> list[ReplyFields]:
    """Each definition with its figures summed over the shards."""
    described = []
    for place, synopsis in enumerate(shards[0].synopses):
        figures = [shard.figures[place] for shard in shards]
        sums = {name: sum(f[name] for f in figures) for name in figures[0]}
        described.append({**msgspec.to_builtins(synopsis), **sums, **_digest(shards)})
    return described


def _digest(shards: list[Figures]) -> ReplyFields:
    """The digest that `describe` states, where every shard gave what it is made from."""
    states = [shard.states for shard in shards if shard.states is not None]
    sums = [shard.streams for shard in shards if shard.streams is not None]
    if len(states) == len(shards):
        return {"digest": digest_of(Gathered(states, None).merged)}
    return {"digest": digest_of_streams(sums)} if len(sums) == len(shards) else {}
