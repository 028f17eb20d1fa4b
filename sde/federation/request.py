"""Requests over several sites: what the asking site keeps of one, and what it asks its peers for.

A request with `sites` is split where it comes in: the plain request goes its usual way through
the stages, and beside it (`Asked.role`) travels what makes it one of several sites.
"""

from __future__ import annotations

from msgspec.structs import replace

from sde.federation.peers import Peers
from sde.records.asked import Asked, Attached
from sde.records.position import Position
from sde.records.sites import Asking, Contributing, PeerRequest
from sde.records.watching import Standing
from sde.wire import (
    Ask,
    Code,
    Create,
    Delete,
    Refusal,
    Request,
    Sites,
    Unwatch,
    Watch,
    decode_request,
    message_of,
)
from sde.wire.forms import refuse

OLDEST = 26 * 3600 * 1000  # ms: a request waits for a site for a day; clocks may differ a little
_OF_PEERS = ("create", "delete", "estimate", "watch", "unwatch", "sites")  # that a peer may ask for


def split(asked: Asked, peers: Peers, checkpoint: str) -> Asked:
    """A request that names sites, as the stages take it; others as they are.

    Its key has the checkpoint and the time in it: in a new topic, or for a new checkpoint, the
    same position is another request, and what a site contributed to the old one is not for it.
    Refusal if it names sites that are not known, or asks for what no site can do.
    """
    request, key = asked.request, f"{checkpoint}/{asked.position}@{asked.time}"
    match request:
        case Sites():
            own = Asking(key, peers.sites, request.patience)
            return replace(asked, request=replace(request, deadline=None), role=own)
        case Create() | Delete() | Ask() | Watch():
            if request.sites is None:
                return asked
        case _:
            return asked
    sites = _known(request.sites, peers)
    asking = Asking(key, sites, request.patience, own=peers.site in sites)
    if not isinstance(request, Watch):
        plain: Request = replace(request, sites=None, deadline=None)
        return replace(asked, request=plain, role=asking)
    if not asking.own:
        expected = f"{peers.site!r} among them: it is the one that answers"
        refuse("sites", request.sites, expected)
    standing = Standing(key, peers.site, sites, request.drift)
    plain = replace(request, sites=None, deadline=None, drift=None)
    return replace(asked, request=plain, role=asking, attached=Attached(standing=standing))


def _known(named: str | list[str], peers: Peers) -> tuple[str, ...]:
    if named == "*":
        return peers.sites
    sites = tuple(dict.fromkeys([named] if isinstance(named, str) else named))
    for site in sites:
        if site not in peers.sites:
            known = ", ".join(sorted(peers.sites))
            raise Refusal(
                Code.UNKNOWN_SITE, f'sites={site[:80]!r}: expected "*" or some of {known}', "sites"
            )
    if not sites:
        refuse("sites", named, '"*" or a list of the names of sites')
    return sites


def request_to_peer(asked: Asked, asking: Asking, now: int) -> PeerRequest:
    """`now`: by the engine's clock, which may stand still while nothing needs it."""
    return PeerRequest(
        key=asking.key,
        request=message_of(asked.request),
        at=asked.at if asking.again else None,  # else it is that of our own shards
        standing=asked.attached.standing,
        time=max(asked.time, now),
    )


def request_of_peer(
    head: PeerRequest, by: str, size: int, position: Position, time: int, is_older: bool
) -> Asked:
    """What a peer asks for: the plain request, under an id that no client of this site uses.

    Refusal if it is none that a peer may ask for, or so old that it is a copy. `is_older`: it
    was written by a version that did not say when.
    """
    message = head.request or {}
    if message.get("op") not in _OF_PEERS:
        raise Refusal(Code.BAD_REQUEST, f"request.op: expected one of {', '.join(_OF_PEERS)}")
    if not is_older and (head.time is None or time - head.time > OLDEST):
        raise Refusal(Code.BAD_REQUEST, f"time={head.time}: expected a moment of the last day")
    request = decode_request({**message, "id": f"{by}/{message.get('id')}"}, str(position))
    if isinstance(request, Unwatch):
        request = replace(request, watch=f"{by}/{request.watch}")
    standing = None
    if isinstance(request, Watch):
        if head.standing is None:
            raise Refusal(Code.BAD_REQUEST, "standing: expected what makes it a watch over sites")
        standing = replace(head.standing, key=head.key, by=by)
    return Asked(
        position=position,
        time=time,
        request=request,
        at=head.at,
        attached=Attached(standing=standing),
        role=Contributing(head.key, by, size),
    )
