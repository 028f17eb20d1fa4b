"""merge: all partials of a request become its one reply.

    partials of one request, from every shard ──> Merge ──> reply
    reports of all shards ────────────────────────────────> the loop (union topic)

States are merged, then asked; estimates are never added up. A set that lacks a shard's partial
is refused with a fault instead of being answered wrongly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeVar, assert_never

from sde.federation.merge import SitesMerge
from sde.federation.merge_watches import SitesWatch
from sde.federation.peers import Peers
from sde.federation.sending import Sender
from sde.plugins.failure import PluginFailure
from sde.records.asked import Asked, AskedInfore, Unreadable
from sde.records.figures import Written
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
from sde.records.result import Tried, Waits
from sde.registry.watermarks import later
from sde.requests.boundary import fault_of
from sde.requests.completeness import require_all
from sde.requests.gathered import WindowsDiffer
from sde.requests.reply_fields import of_class, reply_fields
from sde.stages.watch_answers import WatchAnswers
from sde.stages.writer import ReplyWriter
from sde.wire import Code, Fault, Plugin, Refusal, answer, refusal, unreadable

P = TypeVar("P", bound=Partial)


class Merge:
    """The stage for one batch, at the site that `peers` names as its own.

    `has_log`: there is a topic for INFORE's log. `loop` seals what goes round it. `exported`:
    watches whose answers are among the figures.
    """

    def __init__(
        self,
        peers: Peers,
        loop: LoopWriter,
        has_log: bool = False,
        exported: frozenset[str] = frozenset(),
    ) -> None:
        self._site = peers.site
        self._writer = ReplyWriter(peers.site, has_log, loop, exported)
        sender = Sender(peers, loop)
        self._sites = SitesMerge(peers, sender, self._quarantine)
        self._site_watches = SitesWatch(peers, sender, self._quarantine)
        self._failures: dict[str, str] = {}  # of plug-ins, met in this batch, by kind

    @property
    def figures(self) -> Written:
        """What was replied so far."""
        return self._writer.figures

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
            fields = answer(request, batch, self._site, **reply_fields(request, results))
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
        tried = of_class(Tried, require_all(partials))
    except Refusal as refusal:
        return refusal.fault
    return next((one.fault for one in tried if one.fault is not None), None)


def _all(kind: type[P], partials: list[Partial]) -> list[P]:
    return [partial for partial in partials if isinstance(partial, kind)]
