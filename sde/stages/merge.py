"""merge: all partials of a request become its one reply.

    partials of one request, from every shard ──> Merge ──> reply
    reports of all shards ────────────────────────────────> the loop (union topic)

States are merged, then asked; estimates are never added up. A set that lacks a shard's partial
is refused with a fault instead of being answered wrongly.
"""

from __future__ import annotations

import base64
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any

from sde.federation.merge import SitesMerge
from sde.federation.merge_watches import SitesWatch
from sde.federation.peers import Peers
from sde.infore import answer_of, belongs_in_log, is_infore, logging_message, reply_key
from sde.plugins.failure import PluginFailure
from sde.records.outgoing import Outgoing, Role, to_loop, written
from sde.records.partial import Partial, require_all, require_no_fault
from sde.registry.watches import Watching
from sde.registry.watermarks import later
from sde.requests.changing import internal
from sde.requests.deciding import decide
from sde.requests.each import MOST, question_for
from sde.requests.gathered import Gathered, WindowsDiffer
from sde.wire import (
    Ask,
    Code,
    Describe,
    Export,
    Fault,
    ListAll,
    Plugins,
    Refusal,
    Request,
    Snapshots,
    Span,
    Watch,
    answer,
    decode_request,
    refusal,
    unreadable,
    watch_answer,
)
from sde.wire.loop import (
    Admit,
    Again,
    Answered,
    Due,
    Failed,
    Loop,
    Progress,
    Reached,
)

_log = logging.getLogger(__name__)


class Merge:
    """`has_log`: there is a topic for INFORE's log. `checkpoint` marks what goes round the loop."""

    def __init__(
        self,
        site: str,
        has_log: bool = False,
        checkpoint: str = "-",
        peers: Peers | None = None,
    ) -> None:
        self._site, self._has_log, self._checkpoint = site, has_log, checkpoint
        peers = peers or Peers(site, own=checkpoint)
        self._sites = SitesMerge(peers, checkpoint, self._failed)
        self._site_watches = SitesWatch(peers)

    def _to_loop(self, message: Loop) -> Outgoing:
        return to_loop(message, self._checkpoint)

    def on_partials(self, partials: Iterable[Partial]) -> Iterator[Outgoing]:
        """The replies to all requests in a set of partials, in the order of their places."""
        self._answered: dict[str, Watching] = {}  # watches, as their last answer here left them
        self._failures: dict[str, str] = {}  # of plug-ins, met here
        by_place: dict[str, list[Partial]] = defaultdict(list)
        for partial in partials:
            by_place[partial.arrived.place].append(partial)
        for same in sorted(by_place.values(), key=lambda p: p[0].arrived.position):
            same.sort(key=lambda p: p.shard)
            if "watches" in same[0].head:
                yield from self._watch_answers(same)
            elif "each" in same[0].head:
                yield from self._each_answers(same)
            elif "ended" in same[0].head:
                yield from self._ended(same[0])
            elif "standing" in same[0].head:
                yield from self._site_watches.on_due(same)
            elif "orphan" in same[0].head:
                yield from self._site_watches.on_orphan(same[0])
            elif "came" in same[0].head:
                yield self._sites.reply(same[0])
            elif same[0].arrived.federated is not None:
                yield from self._sites.contribute(same)
            else:
                yield self._reply(same)
        for kind, reason in self._failures.items():
            yield self._to_loop(Failed(kind, reason))

    def on_reports(self, reports: Iterable[Progress | Due | Failed]) -> Iterator[Outgoing]:
        """What the shards shall learn in the next batch."""
        clocks: dict[str, dict[str, Reached]] = defaultdict(dict)
        changed: dict[str, bool] = defaultdict(bool)
        for report in reports:
            if isinstance(report, Due | Failed):
                yield self._to_loop(report)
                continue
            changed[report.dataset] |= report.changed
            held = clocks[report.dataset]
            for clock, reached in report.clocks.items():
                held[clock] = later(held.get(clock, {}), reached)
        for dataset in sorted(clocks):
            yield self._to_loop(Progress(dataset, clocks[dataset], changed[dataset]))

    # -- replies ---------------------------------------------------------------------------------

    def _reply(self, partials: list[Partial]) -> Outgoing:
        first = partials[0]
        arrived = first.arrived
        try:
            if arrived.fault is not None:
                raise Refusal.of(arrived.fault)
            assert arrived.message is not None
            if is_infore(arrived.message):  # nothing was to be done
                acknowledged = {"status": "ok", "op": None}
                return self._written(acknowledged, "", arrived.message, arrived.time)
            request = decode_request(arrived.message, arrived.place)
        except Refusal as refused:
            return self._unreadable(first, refused.fault)
        if "waits" in first.head:
            return self._to_loop(Admit({**arrived.message, "id": request.id}))
        try:
            fields = self._fields(request, partials)
        except WindowsDiffer as differ:
            return self._to_loop(Again(arrived.as_json(), differ.latest))
        except Refusal as refused:
            reply = refusal(request, refused.fault, first.batch, self._site)
        except PluginFailure as failure:
            reply = refusal(request, self._failed(failure), first.batch, self._site)
        except Exception as error:  # a defect in a kind must not stop every other answer
            _log.exception("no answer to %r", request)
            reply = refusal(request, internal(error), first.batch, self._site)
        else:
            reply = answer(request, first.batch, self._site, **fields)
        uid = getattr(request, "uid", None) or ",".join(getattr(request, "uids", ()))
        return self._written({"uid": uid or None, **reply}, uid, arrived.infore, arrived.time)

    def _written(
        self, reply: dict[str, Any], key: str, infore: dict[str, Any] | None, time: int
    ) -> Outgoing:
        """A reply in the dialect of its request, which came at `time`."""
        if infore is None:
            return Outgoing(key, written(reply))
        role = Role.OUTPUT
        if self._has_log and belongs_in_log(infore, reply):
            role, reply = Role.LOG, logging_message(infore, reply, time)
        else:
            reply = answer_of(infore, reply)
        return Outgoing(reply_key(infore), written(reply), role)

    def _unreadable(self, first: Partial, fault: Fault) -> Outgoing:
        """Something that is no request still gets a reply, under its id if it has one."""
        given = (first.arrived.message or {}).get("id")
        name = given if isinstance(given, str) and given else first.arrived.place
        reply = unreadable(name, fault, first.batch, self._site)
        return self._written(reply, "", first.arrived.infore, first.arrived.time)

    def _fields(self, request: Request, partials: list[Partial]) -> dict[str, Any]:
        first = partials[0]
        require_all(partials)
        match request:
            case Ask():
                return _estimate(request, partials)
            case Export():
                return _export(request, partials)
            case ListAll():
                return {"value": _with_figures(partials)}
            case Describe():
                return {"value": _with_figures(partials)[0]}
            case Plugins():
                return {"value": first.head["plugins"]}
            case Snapshots():
                return {"value": first.head.get("versions", [])}
            case _:
                return dict(first.head["ok"])

    # -- watches ---------------------------------------------------------------------------------

    def _watch_answers(self, partials: list[Partial]) -> Iterator[Outgoing]:
        span = partials[0].head["span"]
        gathered = Gathered(partials, Span(**span) if span else None)
        for place, held in enumerate(partials[0].head["watches"]):
            watching = self._answered.get(held["id"]) or Watching(**held)
            request = decode_request(watching.message, watching.place)
            assert isinstance(request, Watch)
            try:
                yield from self._watch_answer(request, watching, gathered, partials, place)
            except Refusal as refused:
                if refused.fault.code != Code.UNKNOWN_STREAM:  # it may still come
                    yield self._say(request, watching, watching.number, refused.fault.as_json())
            except PluginFailure as failure:
                fault = self._failed(failure)
                yield self._say(request, watching, watching.number, fault.as_json())
            except Exception as error:  # a defect must not stop every other answer
                _log.exception("no answer to the watch %s", watching.id)
                yield self._say(request, watching, watching.number, internal(error).as_json())

    def _watch_answer(
        self,
        request: Watch,
        watching: Watching,
        gathered: Gathered,
        partials: list[Partial],
        place: int,
    ) -> Iterator[Outgoing]:
        require_no_fault(partials)
        found = next((p.head["estimates"][place] for p in partials if "estimates" in p.head), None)
        fields = (
            gathered.estimate(request.question)
            if found is None
            else gathered.told(request.question, found)
        )
        decision = decide(request, watching, fields["value"])
        if decision is None:
            return
        if decision.holds is not None:
            fields["holds"] = decision.holds
        fields |= {"batch": partials[0].batch, "site": self._site}
        yield self._say(request, watching, decision.number, {"status": "ok", **fields})
        if decision.remember:
            number, value, holds = decision.number, fields["value"], decision.holds
            self._answered[watching.id] = replace(watching, number=number, last=value, holds=holds)
            yield self._to_loop(Answered(watching.id, number, value, holds))

    def _say(
        self, request: Watch, watching: Watching, number: int, fields: dict[str, Any]
    ) -> Outgoing:
        uid = ",".join(request.question.uids)
        reply = {"uid": uid, **watch_answer(watching.id, number), **fields}
        return self._written(reply, uid, watching.infore, watching.since)

    def _each_answers(self, partials: list[Partial]) -> Iterator[Outgoing]:
        """One answer for each key or stream that any shard names."""
        watching = Watching(**partials[0].head["watch"])
        request = decode_request(watching.message, watching.place)
        assert isinstance(request, Watch)
        gathered = Gathered(partials, None)
        about = {"batch": partials[0].batch, "site": self._site}
        told = {
            item: estimate
            for p in partials
            for item, estimate in zip(
                p.head["each"], p.head.get("estimates", repeat(None)), strict=False
            )
        }
        first = partials[0].batch * MOST
        for number, (item, estimate) in enumerate(sorted(told.items()), first + 1):
            question = question_for(request, item)
            fields = {"status": "ok", "key": item, **about}
            try:
                fields |= (
                    gathered.estimate(question)
                    if estimate is None
                    else gathered.told(question, estimate)
                )
            except Refusal as refused:
                fields = refused.fault.as_json()
            except PluginFailure as failure:
                fields = self._failed(failure).as_json()
            yield self._say(request, watching, number, fields)

    def _failed(self, failure: PluginFailure) -> Fault:
        """The shards learn of it; what the user is told."""
        self._failures.setdefault(failure.kind, failure.reason)
        return Fault(Code.QUARANTINED, f"{failure.kind} misbehaved: {failure.reason}", "kind")

    def _ended(self, partial: Partial) -> Iterator[Outgoing]:
        watching = Watching(**partial.head["ended"])
        if watching.standing is not None:
            yield from self._site_watches.on_end(watching)
            if watching.standing["by"] != self._site:
                return
        request = decode_request(watching.message, watching.place)
        assert isinstance(request, Watch)
        ended = {
            "id": f"{watching.id}#ended",
            "status": "ok",
            "ended": "its synopsis was deleted, or somebody sent unwatch",
        }
        about = {"batch": partial.batch, "site": self._site}
        yield self._say(request, watching, watching.number, {**ended, **about})


def _estimate(request: Ask, partials: list[Partial]) -> dict[str, Any]:
    gathered = Gathered(partials, request.span)
    for partial in partials:
        if "estimate" in partial.head:
            return gathered.told(request, partial.head["estimate"])
    return gathered.estimate(request)


def _export(request: Export, partials: list[Partial]) -> dict[str, Any]:
    gathered = Gathered(partials, request.span)
    gathered.require_stream(request.stream)
    fields = gathered.fields(request.stream)
    merged: Any = gathered.merged[0]
    state = merged.to_bytes() if request.format == "native" else merged.to_datasketches()
    return {**fields, "format": request.format, "value": base64.b64encode(state).decode()}


def _with_figures(partials: list[Partial]) -> list[dict[str, Any]]:
    """Each definition with its figures summed over the shards."""
    described = []
    for place, definition in enumerate(partials[0].head["synopses"]):
        figures = [p.head["figures"][place] for p in partials]
        sums = {name: sum(f[name] for f in figures) for name in figures[0]}
        described.append({**definition, **sums})
    return described
