"""Merge's hand in watches over several sites: peers say what changed, the asking site answers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sde.federation.contribution import contribution
from sde.federation.frames import Content
from sde.federation.maintain_watches import Standing, standing_of
from sde.federation.peers import Peers
from sde.federation.replies import Came, estimated
from sde.federation.sending import Sender
from sde.records.arrived import Arrived
from sde.records.outgoing import Outgoing, written
from sde.records.partial import Partial
from sde.registry.watches import Watching
from sde.requests.drift import (
    difference,
    has_moved,
    needs_norm,
    next_bound,
    norm_of,
    stated,
)
from sde.requests.gathered import Gathered
from sde.wire import Refusal, Watch, decode_request, watch_answer
from synopses import KINDS, StateError, Synopsis

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Due:
    """A watch that is due at this site."""

    watching: Watching
    request: Watch
    standing: Standing
    content: Content  # what this site holds
    account: dict[str, Any]
    kept: list[bytes]  # states of the account
    batch: int
    time: int


def _due(partials: list[Partial]) -> _Due:
    first = partials[0]
    watching = Watching(**first.head["standing"])
    request = decode_request(watching.message, watching.place)
    assert isinstance(request, Watch)
    own = [replace(p, parts=p.parts[: p.head["own"]]) for p in partials]
    content = contribution(request.question, own)
    kept = first.parts[first.head["own"] :]
    return _Due(
        watching,
        request,
        standing_of(watching),
        content,
        first.head["account"],
        kept,
        first.batch,
        first.arrived.time,
    )


class SitesWatch:
    def __init__(self, peers: Peers) -> None:
        self._peers, self._sender = peers, Sender(peers)

    def on_due(self, partials: list[Partial]) -> Iterator[Outgoing]:
        try:
            due = _due(partials)
            here = due.standing.by == self._peers.site
            said = list(self._answer(due) if here else self._tell(due))
        except Exception:  # a defect must not stop every other answer
            _log.exception("nothing said to %s", partials[0].arrived.place)
            return
        yield from said

    def on_end(self, watching: Watching) -> Iterator[Outgoing]:
        """A watch has ended here: the others need not go on."""
        standing = standing_of(watching)
        if standing.by == self._peers.site:
            for site in standing.others:
                yield from self._end_at(site, standing.key, watching.id)
        else:
            fault = {"code": "unknown_watch", "message": "its watch has ended", "field": ""}
            told = {"fault": fault, "standing": True, "key": standing.key}
            yield from self._sender.contribution(
                standing.by, Content({**told, "number": 2**60, "base": 0})
            )

    def on_orphan(self, partial: Partial) -> Iterator[Outgoing]:
        """A site goes on with a watch that nobody here knows: it may stop."""
        orphan = partial.head["orphan"]
        watch = str(orphan["watch"]).removeprefix(f"{self._peers.site}/")
        yield from self._end_at(orphan["site"], orphan["key"], watch)

    def _end_at(self, site: str, key: str, watch: str) -> Iterator[Outgoing]:
        over = {"op": "unwatch", "id": f"{key} ended {watch}", "watch": watch}
        return self._sender.request(site, {"key": key, "request": over})

    # -- at a peer --------------------------------------------------------------------------------

    def _tell(self, due: _Due) -> Iterator[Outgoing]:
        """What changed here, if it did, in the shorter form; and to ourselves what was sent."""
        standing, content = due.standing, due.content
        number = due.account["number"]
        if not self._must_tell(due):
            return
        envelope = {"standing": True, "key": standing.key, "watch": due.watching.id}
        head = {**content.head, **envelope, "number": number + 1}
        forms = [Content({**head, "base": 0}, content.parts)]
        changed = _changes(due)
        if changed is not None:
            forms.append(Content({**head, "base": number}, changed))
        told = [list(self._sender.contribution(standing.by, form)) for form in forms]
        yield from min(told, key=lambda messages: sum(len(m.value) for m in messages))
        sent = Content({"key": standing.key, "sent": number + 1}, content.parts)
        yield from self._sender.contribution(self._peers.site, sent)

    def _must_tell(self, due: _Due) -> bool:
        content, standing = due.content, due.standing
        if "fault" in content.head:  # it may be gone at the next tick; the asker sees no word
            return False
        if not due.kept:
            return True
        if due.kept == content.parts:
            return False
        if (
            standing.drift is None
            or len(content.parts) != 1
            or not all((*due.kept, *content.parts))
        ):
            return True
        kind = KINDS[content.head["about"][0]["kind"]]
        now, sent = kind.from_bytes(content.parts[0]), kind.from_bytes(due.kept[0])
        query, norm = due.request.question.query, due.account["norm"]
        return has_moved(query, now, sent, standing.drift, len(standing.others), norm)

    # -- at the site that asked ------------------------------------------------------------------

    def _answer(self, due: _Due) -> Iterator[Outgoing]:
        watching, question = due.watching, due.request.question
        came = self._came(due)
        uid = ",".join(question.uids)
        head = {"uid": uid, **watch_answer(watching.id, watching.number)}
        about = {"batch": due.batch, "site": self._peers.site}
        try:
            fields = estimated(question, came, self._peers.site)
        except Refusal as refused:
            yield Outgoing(
                uid, written({**head, **refused.fault.as_json(), **came.told(), **about})
            )
        else:
            told = self._with_drift(due, came)
            yield Outgoing(uid, written({**head, "status": "ok", **fields, **told, **about}))
            yield from self._agree(due, came)
        for site in due.account["gaps"]:
            yield from self._sender.request(site, {"key": due.standing.key, "whole": True})

    def _came(self, due: _Due) -> Came:
        """The states of all sites as far as they are known here, and how old they are."""
        sites: dict[str, Content] = {}
        sizes: dict[str, int] = {}
        more: dict[str, dict[str, Any]] = {}
        here, at = self._peers.site, 0
        sites[here], sizes[here] = _without_window(due.content), 0
        more[here] = {"age": 0, **_window(due.content)}
        for held in due.account["held"]:
            content = Content(held["head"], due.kept[at : at + held["parts"]])
            at += held["parts"]
            sites[held["site"]] = _without_window(content)
            sizes[held["site"]] = held["size"]
            more[held["site"]] = {"age": max(0, due.time - held["at"]), **_window(content)}
        arrived = Arrived(due.watching.place, due.time, None)
        partials = {
            site: Partial(arrived, 0, 1, due.batch, said.head, said.parts)
            for site, said in sites.items()
        }
        ordered = {site: partials[site] for site in due.standing.sites if site in partials}
        missing = {site: "no word yet" for site in due.standing.sites if site not in partials}
        return Came(ordered, sizes, missing, more)

    def _with_drift(self, due: _Due, came: Came) -> dict[str, Any]:
        """By how much the value may be off through what sites have not told."""
        drift, norm = due.standing.drift, due.account["norm"]
        if drift is None:
            return {}
        if not needs_norm(self._kind(came), due.request.question.query):
            return {"drift": drift}
        if norm is None:
            return {"drift": 0.0}  # until they know a bound, sites tell every change
        return {"drift": stated(drift, self._norm(came), norm)}

    def _agree(self, due: _Due, came: Came) -> Iterator[Outgoing]:
        """Tell the sites the norm they measure their drift against, when it has left its bound."""
        query, told = due.request.question.query, due.account["norm"]
        if due.standing.drift is None or not needs_norm(self._kind(came), query):
            return
        norm = next_bound(due.standing.drift, self._norm(came), told)
        if norm is None:
            return
        agreed = {"key": due.standing.key, "norm": norm}
        for site in due.standing.others:
            yield from self._sender.request(site, agreed)
        yield from self._sender.contribution(self._peers.site, Content(agreed))

    def _kind(self, came: Came) -> type[Synopsis]:
        return Gathered(list(came.sites.values()), None).kind

    def _norm(self, came: Came) -> float:
        return norm_of(Gathered(list(came.sites.values()), None).merged[0])


def _changes(due: _Due) -> list[bytes] | None:
    """The difference of each state to what was sent; None if that is no state of its kind."""
    about, parts = due.content.head["about"], due.content.parts
    kind = KINDS[about[0]["kind"]]
    if not kind.linear or len(due.kept) != len(parts) or not all((*due.kept, *parts)):
        return None
    try:
        changed = [
            difference(kind.from_bytes(now), kind.from_bytes(before)).to_bytes()
            for now, before in zip(parts, due.kept, strict=True)
        ]
        for state in changed:
            kind.from_bytes(state)
    except StateError:  # it shrank, and this kind has no such states
        return None
    return changed


def _window(content: Content) -> dict[str, Any]:
    """Sites answer for the window that is open there."""
    found = next(filter(None, content.head.get("windows") or ()), None)
    return {} if found is None else {"window": {"start": found[0], "end": found[1]}}


def _without_window(content: Content) -> Content:
    head = {n: v for n, v in content.head.items() if n not in ("windows", "latest")}
    return replace(content, head=head)
