"""Requests over several sites: what the asking site keeps of one, and what it asks its peers for.

A request with `sites` is split where it comes in: the plain request goes its usual way through
the stages, and beside it (`Arrived.federated`) travels what makes it one of several sites.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sde.federation.frames import Content
from sde.federation.peers import Peers
from sde.wire import Code, Fields, Refusal

OPS = ("create", "delete", "estimate", "watch")  # that may be of several sites
_OF_PEERS = (*OPS, "unwatch", "sites")  # that a peer may ask for
_DEADLINE, _LONGEST_DEADLINE, _PING = 5_000, 60_000, 3_000  # ms
_OWN_FIELDS = ("sites", "deadline", "drift")


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
    ping = message.get("op") == "sites"
    if not ping and not fields.has("sites"):
        return message, None
    if not ping and message.get("op") not in OPS:
        fields.refuse("sites", f"no sites with this op; only with {', '.join(OPS)}")
    deadline = fields.duration("deadline", default=_PING if ping else _DEADLINE)
    if deadline > _LONGEST_DEADLINE:
        fields.refuse("deadline", "at most 60s")
    plain = {name: value for name, value in message.items() if name not in _OWN_FIELDS}
    plain.setdefault("id", place)
    sites = peers.sites if ping else _sites(fields, peers)
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


def standing_watch(message: dict[str, Any], asked: Asked, here: str) -> dict[str, Any] | None:
    """What makes a watch one over several sites, if it is one; see maintain_watches."""
    fields = Fields(message)
    drift = fields.number_or_none("drift")
    if message.get("op") != "watch":
        if fields.has("drift"):
            fields.refuse("drift", "it only with a watch over sites")
        return None
    if fields.has("drift") and (drift is None or not 0 < drift < float("inf")):
        fields.refuse("drift", "a number above 0")
    for name in ("on", "when", "each"):
        if fields.has(name):
            fields.refuse(name, "`every` alone: a watch over sites answers by the clock")
    if not asked.own:
        fields.refuse("sites", f"{here!r} among them: it is the one that answers")
    return {"key": asked.key, "by": here, "sites": asked.sites, "drift": drift}


def request_to_peer(
    asked: Asked, request: dict[str, Any], at: int | None, standing: dict[str, Any] | None
) -> dict[str, Any]:
    told = {"at": at, "standing": standing}
    given = {name: value for name, value in told.items() if value is not None}
    return {"key": asked.key, "request": request, **given}


@dataclass(frozen=True, slots=True)
class FromPeer:
    """What a peer asks for: the plain request, under ids that no client of this site uses."""

    request: dict[str, Any]
    wanted: Wanted
    at: int | None  # the moment it means, if it names one
    standing: dict[str, Any] | None


def read_request(content: Content, by: str, size: int) -> FromPeer:
    fields = Fields(content.head)
    request = fields.object("request")
    if request.get("op") not in _OF_PEERS:
        raise Refusal(Code.BAD_REQUEST, f"request.op: expected one of {', '.join(_OF_PEERS)}")
    plain = {**request, "id": f"{by}/{request.get('id')}"}
    if plain["op"] == "unwatch":
        plain["watch"] = f"{by}/{request.get('watch')}"
    at = fields.moment("at") if fields.has("at") else None
    standing = None
    if plain["op"] == "watch":
        told = fields.nested("standing")
        drift = told.number_or_none("drift")
        standing = {
            "key": fields.text("key"),
            "by": by,
            "sites": told.texts("sites"),
            "drift": drift,
        }
    return FromPeer(plain, Wanted(fields.text("key"), by, size), at, standing)


def read_note(content: Content, by: str, size: int) -> dict[str, Any]:
    """A word between the requests: send whole states again; measure drift against this norm."""
    fields = Fields(content.head)
    norm = fields.number_or_none("norm")
    told = {"key": fields.text("key"), "by": by, "size": size, "whole": fields.flag("whole")}
    return {"told": {**told, "norm": norm if norm is None or norm >= 0 else None}}
