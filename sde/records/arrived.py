"""ingest -> maintain: what a message turned out to be.

A request is parsed once, by ingest. One in INFORE's dialect is the exception: what it asks for
depends on the synopses that run, which only the shards know.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from sde.records.asked import Asked, AskedInfore, Unreadable
from sde.records.codec import encode
from sde.records.loop import Loop
from sde.records.position import Position
from sde.records.sites import SiteMessage


class Told(Struct, frozen=True, kw_only=True, tag="told", omit_defaults=True):
    """What the engine told itself through the union topic; `batch`: which one wrote it.

    `trusted`: of the examination of a plug-in, the keys that ingest found trusted; None: any.
    """

    position: Position
    time: int
    message: Loop
    batch: int | None = None  # none did, but a thread beside the query
    trusted: list[str] | None = None


class FromSite(Struct, frozen=True, kw_only=True, tag="site", omit_defaults=True):
    """What another site, or merge of this one in a `batch`, says to the state of shard 0."""

    position: Position
    time: int
    message: SiteMessage
    batch: int | None = None


class FromSource(Struct, frozen=True, kw_only=True, tag="source"):
    """To the state of shard 0: how many records of a source became dead letters in one reading.

    `changed`: the version of the mapping that they were read with; see `ReadSource`.
    """

    source: str
    changed: int
    refused: int


Arrived = Asked | AskedInfore | Unreadable | Told | FromSite | FromSource

_decoder = msgspec.json.Decoder(list[Arrived])


def pack_arrived(arrived: Iterable[Arrived]) -> bytes:
    return encode(list(arrived))


def unpack_arrived(body: bytes) -> list[Arrived]:
    return _decoder.decode(body)


def for_all_shards(arrived: Arrived) -> bool:
    """Whether every shard gets it; what sites and sources say goes to shard 0 alone."""
    return not isinstance(arrived, FromSite | FromSource)
