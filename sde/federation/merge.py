"""Federation, in merge: contributions go out, one reply comes of them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from sde.federation.contribution import contribution
from sde.federation.peers import Peers
from sde.federation.replies import RefusedBySites, reply_fields
from sde.federation.request import request_to_peer
from sde.federation.sending import Sender
from sde.records.asked import Asked
from sde.records.loop import Again
from sde.records.outgoing import Outgoing, json_bytes
from sde.records.partial import Reply, SiteContributions
from sde.records.sites import Asking, Contributing, Contribution, Role
from sde.requests.boundary import Quarantine, fault_of
from sde.requests.gathered import WindowsDiffer
from sde.wire import Code, Fault, Unwatch, answer, refusal


class SitesMerge:
    """`quarantine` is told of plug-ins that misbehave, and says what their users are told."""

    def __init__(self, peers: Peers, sender: Sender, quarantine: Quarantine) -> None:
        self._peers, self._sender, self._quarantine = peers, sender, quarantine

    def contribute(self, asked: Asked, role: Role, partials: list[Reply]) -> Iterator[Outgoing]:
        """What this site gives to a request of several sites, and what the others are asked for."""
        try:
            content = contribution(role.key, asked.request, partials, self._quarantine)
        except WindowsDiffer as differ:
            yield self._sender.loop.message(Again(asked=_once(asked), at=differ.latest))
            return
        head = content.head
        assert isinstance(head, Contribution)
        match role:
            case Asking():
                if role.own:
                    yield from self._sender.contribution(self._peers.site, head, content.parts)
                question = request_to_peer(asked, role, partials[0].time)
                for site in role.sites:
                    if site != self._peers.site:
                        yield from self._sender.request(site, question)
            case Contributing():
                if not isinstance(asked.request, Unwatch):
                    head = replace(head, received=partials[0].received)
                    yield from self._sender.contribution(role.by, head, content.parts)

    def reply(self, partial: SiteContributions) -> Outgoing:
        asked, request = partial.asked, partial.asked.request
        asking = asked.role
        assert isinstance(asking, Asking)
        batch, here = partial.batch, self._peers.site
        try:
            fields = reply_fields(request, partial, asking, here)
            message = answer(request, batch, here, **fields)
        except WindowsDiffer as differ:
            if not asking.again:
                return self._ask_again(asked, asking, differ.latest)
            fault = Fault(Code.BAD_QUERY, "end=None: the sites have different windows open", "end")
            message = refusal(request, fault, batch, here)
        except RefusedBySites as refused:
            message = {**refusal(request, refused.fault, batch, here), **refused.figures}
        except Exception as error:
            message = refusal(request, fault_of(error, request, self._quarantine), batch, here)
        return Outgoing(request.named, json_bytes({"uid": request.named or None, **message}))

    def _ask_again(self, asked: Asked, asking: Asking, at: int) -> Outgoing:
        """The sites had different windows open: all are asked for the one open at the latest."""
        second = replace(asking, key=f"{asking.key}+", again=True)
        return self._sender.loop.message(Again(asked=replace(asked, role=second), at=at))


def _once(asked: Asked) -> Asked:
    """As it goes round the loop to be asked again: its bytes were counted."""
    if not isinstance(asked.role, Contributing):
        return asked
    return replace(asked, role=replace(asked.role, size=0))
