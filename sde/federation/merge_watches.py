"""Federation, in merge: of watches over several sites, peers send what changed, one answers."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from sde.federation.contribution import contribution, states_of
from sde.federation.peers import Peers
from sde.federation.replies import FromOneSite, FromSites, RefusedBySites, estimate_fields
from sde.federation.sending import Sender
from sde.records.outgoing import Outgoing, json_bytes
from sde.records.partial import SiteWatchStates, SiteWatchUnknown
from sde.records.sites import Account, Contribution, PeerRequest
from sde.records.watching import Standing, Watching
from sde.requests.boundary import Quarantine
from sde.requests.drift import (
    difference,
    has_moved,
    needs_norm,
    next_bound,
    norm_of,
    stated,
)
from sde.requests.gathered import Gathered
from sde.wire import Ask, Code, Fault, ReplyFields, Unwatch, message_of, watch_answer
from sde.wire.windows import interval_fields
from synopses import KINDS

_LAST = 2**60  # the number of the last word on a watch
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Due:
    """A watch that is due at this site."""

    watching: Watching
    standing: Standing
    head: Contribution  # what this site holds
    parts: list[bytes]
    account: Account
    batch: int
    time: int

    @property
    def question(self) -> Ask:
        return self.watching.request.question

    @property
    def sent(self) -> list[bytes]:
        """The state that was sent last."""
        return [base64.b64decode(part) for part in self.account.sent]


class SitesWatch:
    def __init__(self, peers: Peers, sender: Sender, quarantine: Quarantine) -> None:
        self._peers, self._sender, self._quarantine = peers, sender, quarantine

    def on_due(self, partials: list[SiteWatchStates]) -> Iterator[Outgoing]:
        try:
            due = self._due(partials)
            here = due.standing.by == self._peers.site
            messages = list(self._answer(due) if here else self._tell(due))
        except Exception:  # the one at fault has been told: nobody waits for an answer
            _log.exception("no answer to the watch %s", partials[0].watch.id)
            return
        yield from messages

    def _due(self, partials: list[SiteWatchStates]) -> _Due:
        first = partials[0]
        watching, standing, account = first.watch, first.watch.standing, first.account
        assert standing is not None
        assert account is not None
        content = contribution(standing.key, watching.request.question, partials, self._quarantine)
        assert isinstance(content.head, Contribution)
        return _Due(
            watching, standing, content.head, content.parts, account, first.batch, first.time
        )

    def on_end(self, watching: Watching, standing: Standing, time: int) -> Iterator[Outgoing]:
        """A watch has ended here: the others need not go on."""
        if standing.by == self._peers.site:
            for site in standing.others:
                yield from self._end_at(site, standing.key, watching.id, time)
        else:
            fault = Fault(Code.UNKNOWN_WATCH, "its watch has ended")
            over = Contribution(key=standing.key, fault=fault, standing=True, number=_LAST, base=0)
            yield from self._sender.contribution(standing.by, over)

    def on_unknown(self, partial: SiteWatchUnknown) -> Iterator[Outgoing]:
        """A site goes on with a watch that nobody here knows: it may stop."""
        watch = partial.watch.removeprefix(f"{self._peers.site}/")
        yield from self._end_at(partial.site, partial.key, watch, partial.time)

    def _end_at(self, site: str, key: str, watch: str, time: int) -> Iterator[Outgoing]:
        over = message_of(Unwatch(id=f"{key} ended {watch}", watch=watch))
        return self._sender.request(site, PeerRequest(key=key, request=over, time=time))

    # -- at a peer --------------------------------------------------------------------------------

    def _tell(self, due: _Due) -> Iterator[Outgoing]:
        """What changed here, if it did, in the shorter form; and to ourselves what was sent."""
        number = due.account.number
        sent = due.sent
        if not self._must_tell(due, sent):
            return
        head = replace(due.head, standing=True, watch=due.watching.id, number=number + 1, base=0)
        forms = [(head, due.parts)]
        changed = _changes(due, sent)
        if changed is not None:
            forms.append((replace(head, base=number), changed))
        frames = [list(self._sender.contribution(due.standing.by, *form)) for form in forms]
        yield from min(frames, key=lambda messages: sum(len(m.value) for m in messages))
        note = Contribution(key=due.standing.key, sent=number + 1)
        yield from self._sender.contribution(self._peers.site, note, due.parts)

    def _must_tell(self, due: _Due, sent: list[bytes]) -> bool:
        if due.head.fault is not None:  # it may be gone at the next tick; the asker sees no word
            return False
        if not sent:
            return True
        if sent == due.parts:
            return False
        drift = due.standing.drift
        if drift is None or len(due.parts) != 1 or not all((*sent, *due.parts)):
            return True
        kind = KINDS[due.head.about[0].kind]
        now, before = kind.from_bytes(due.parts[0]), kind.from_bytes(sent[0])
        query, norm = due.question.query, due.account.norm
        return has_moved(query, now, before, drift, len(due.standing.others), norm)

    # -- at the site that asked ------------------------------------------------------------------

    def _answer(self, due: _Due) -> Iterator[Outgoing]:
        watching, here = due.watching, self._peers.site
        sites = self._from_sites(due)
        uid = due.question.named
        head = {"uid": uid, **watch_answer(watching.id, watching.number)}
        about = {"batch": due.batch, "site": here}
        try:
            fields = estimate_fields(due.question, sites, here)
        except RefusedBySites as refused:
            fields = {**refused.fault.as_json(), **refused.figures}
            yield Outgoing(uid, json_bytes({**head, **fields, **about}))
        else:
            drift = self._drift(due, sites)
            yield Outgoing(uid, json_bytes({**head, "status": "ok", **fields, **drift, **about}))
            yield from self._agree(due, sites)
        for site in due.account.gaps:
            again = PeerRequest(key=due.standing.key, whole=True, time=due.time)
            yield from self._sender.request(site, again)

    def _from_sites(self, due: _Due) -> FromSites:
        """The states of all sites as far as they are known here, and how old they are."""
        found = {self._peers.site: _from_one_site(due.head, due.parts, 0, 0)}
        for site, state in due.account.states.items():
            parts = [base64.b64decode(part) for part in state.parts]
            age = max(0, due.time - state.at)
            found[site] = _from_one_site(state.head, parts, state.size, age)
        ordered = {site: found[site] for site in due.standing.sites if site in found}
        missing = {site: "no word yet" for site in due.standing.sites if site not in found}
        return FromSites(ordered, missing)

    def _drift(self, due: _Due, sites: FromSites) -> ReplyFields:
        """By how much the value may be off through what sites have not told."""
        drift, norm = due.standing.drift, due.account.norm
        if drift is None:
            return {}
        if not needs_norm(_gathered(sites).kind, due.question.query):
            return {"drift": drift}
        if norm is None:
            return {"drift": 0.0}  # until they know a bound, sites tell every change
        return {"drift": stated(drift, norm_of(_gathered(sites).merged[0]), norm)}

    def _agree(self, due: _Due, sites: FromSites) -> Iterator[Outgoing]:
        """Tell the sites the norm they measure their drift against, when it has left its bound."""
        drift, key = due.standing.drift, due.standing.key
        if drift is None or not needs_norm(_gathered(sites).kind, due.question.query):
            return
        norm = next_bound(drift, norm_of(_gathered(sites).merged[0]), due.account.norm)
        if norm is None:
            return
        for site in due.standing.others:
            note = PeerRequest(key=key, norm=norm, time=due.time)
            yield from self._sender.request(site, note)
        yield from self._sender.contribution(self._peers.site, Contribution(key=key, norm=norm))


def _gathered(sites: FromSites) -> Gathered:
    return Gathered([one.states for one in sites.sites.values()], None)


def _changes(due: _Due, sent: list[bytes]) -> list[bytes] | None:
    """The difference of each state to what was sent; None if that does not make up for it."""
    kind = KINDS[due.head.about[0].kind]
    if not kind.linear or len(sent) != len(due.parts) or not all((*sent, *due.parts)):
        return None
    changed = []
    for now, before in zip(due.parts, sent, strict=True):
        known = kind.from_bytes(before)
        change = difference(kind.from_bytes(now), known)
        known.merge(change)
        if known.to_bytes() != now:  # it shrank, and counts of this kind cannot be below 0
            return None
        changed.append(change.to_bytes())
    return changed


def _from_one_site(head: Contribution, parts: list[bytes], size: int, age: int) -> FromOneSite:
    """Each site answers for the window that is open there."""
    window = next((w for w in head.windows if w), None)
    more = {} if window is None else {"window": interval_fields(window)}
    states = replace(states_of(head, parts, None), windows=[], latest=None)
    return FromOneSite(head, states, size, {"age": age, **more})
