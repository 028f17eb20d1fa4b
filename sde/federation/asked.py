"""Requests over several sites: what the asking site keeps of one, and what it asks its peers for.

A request with `sites` is split where it comes in: the plain request goes its usual way through
the stages, and beside it (`Arrived.federated`) travels what makes it one of several sites.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sde.federation.frames import Content
from sde.federation.peers import Peers
from sde.messages import Code, Fields, Refusal

OPS = ("create", "delete", "estimate", "sites")
_DEADLINE, _LONGEST_DEADLINE, _PING = 5_000, 60_000, 3_000  # ms
_OWN_FIELDS = ("sites", "deadline")


@dataclass(frozen=True, slots=True)
class Asked:
    """At the responsible site: `key` names this request, and no other, at all sites."""

    key: str
    sites: tuple[str, ...]
    deadline: int  # ms
    own: bool = True  # this site contributes, too
    again: bool = False  # asked a second time, about a moment that all sites know

    def as_json(self) -> dict[str, Any]:
        return {"asked": asdict(self)}


@dataclass(frozen=True, slots=True)
class Wanted:
    """At a peer: what the site `by` wants a contribution to."""

    key: str
    by: str
    size: int  # bytes of the frame it came in

    def as_json(self) -> dict[str, Any]:
        return {"wanted": asdict(self)}


def asked_of(federated: dict[str, Any] | None) -> Asked | None:
    held = (federated or {}).get("asked")
    return None if held is None else Asked(**{**held, "sites": tuple(held["sites"])})


def wanted_of(federated: dict[str, Any] | None) -> Wanted | None:
    held = (federated or {}).get("wanted")
    return None if held is None else Wanted(**held)


def split(
    message: dict[str, Any], place: str, peers: Peers
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The plain request, and what makes it one of several sites (None: nothing does)."""
    fields = Fields(message)
    if message.get("op") == "sites":
        return message, Asked(place, peers.sites, _PING).as_json()
    if not fields.has("sites"):
        return message, None
    if message.get("op") not in OPS:
        fields.refuse("sites", f"no sites with this op; only with {', '.join(OPS[:-1])}")
    deadline = fields.duration("deadline", default=_DEADLINE)
    if deadline > _LONGEST_DEADLINE:
        fields.refuse("deadline", "at most 60s")
    plain = {name: value for name, value in message.items() if name not in _OWN_FIELDS}
    plain.setdefault("id", place)
    sites = _sites(fields, peers)
    return plain, Asked(place, sites, deadline, own=peers.site in sites).as_json()


def _sites(fields: Fields, peers: Peers) -> tuple[str, ...]:
    if fields.any("sites") == "*":
        return peers.sites
    named = tuple(dict.fromkeys(fields.texts("sites")))
    for site in named:
        if site not in peers.sites:
            known = ", ".join(sorted(peers.sites))
            raise Refusal(
                Code.UNKNOWN_SITE, f'sites={site[:80]!r}: expected "*" or some of {known}', "sites"
            )
    if not named:
        fields.refuse("sites", '"*" or a list of the names of sites')
    return named


def request_to_peer(asked: Asked, request: dict[str, Any], at: int | None) -> Content:
    return Content({"key": asked.key, "request": request, "at": at})


def read_request(content: Content, by: str, size: int) -> tuple[dict[str, Any], Wanted, int | None]:
    """What a peer asks for: the plain request, under an id of its own, and the moment it means."""
    fields = Fields(content.head)
    request = fields.object("request")
    if request.get("op") not in OPS:
        raise Refusal(Code.BAD_REQUEST, f"request.op: expected one of {', '.join(OPS)}")
    plain = {**request, "id": f"{by}/{request.get('id')}"}
    at = fields.moment("at") if fields.has("at") else None
    return plain, Wanted(fields.text("key"), by, size), at
