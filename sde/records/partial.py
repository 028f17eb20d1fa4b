"""maintain -> merge: what one shard contributes to a reply.

Every shard replies to every request, if only "nothing here": a set of partials is complete when
there is one of each shard.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from sde.records.asked import AnyAsked, Asked
from sde.records.codec import plain
from sde.records.position import Position
from sde.records.result import PackedPlugin, Part, Refused, Result, States
from sde.records.sites import Account, SiteContribution, Traffic
from sde.records.watching import Watching
from sde.wire import Fault, Span
from sde.wire.framing import pack, unpack
from synopses import Estimate

_ENDING = 64  # bytes by which most parts that differ are told apart


class Subject(Struct, frozen=True, order=True):
    """What a partial is about: those with the same subject become one reply, in this order.

    Those with the same `about` and `number` meet in one task: all windows of a watch, in `part`.
    """

    about: str
    number: int = 0
    part: int = 0

    @classmethod
    def of(cls, position: Position, part: int = 0) -> Subject:
        return cls(f"{position.topic}-{position.partition}", position.offset, part)

    def bucket(self, buckets: int) -> int:
        """The task, of so many, where all that belong together meet."""
        return zlib.crc32(f"{self.about}-{self.number}".encode()) % buckets


class _Partial(Struct, frozen=True, kw_only=True, tag_field="is", omit_defaults=True):
    subject: Subject
    shard: int
    of: int  # shards
    batch: int
    time: int = 0  # by the clock of the engine


class Reply(_Partial, frozen=True, tag="reply"):
    """To a request."""

    asked: AnyAsked
    result: Result
    received: int | None = None  # bytes that came so far from the site that asked


class WatchStates(_Partial, frozen=True, tag="watch"):
    """For watches that are due and ask about the same part of the same synopses.

    `answers`: where this shard alone knows them, one for each watch.
    """

    watches: list[Watching]
    span: Span | None
    result: States | Refused
    answers: list[Estimated] = []


class Estimated(Struct, frozen=True, omit_defaults=True):
    """An estimate, or why there is none."""

    estimate: Estimate | None = None
    fault: Fault | None = None


class EachStates(_Partial, frozen=True, tag="each"):
    """For a watch that answers for each key, or stream, that had tuples in the batch."""

    watch: Watching
    items: list[str]
    states: States
    answers: list[Estimate] = []  # of the items, where this shard alone knows them
    left_out: int = 0  # how many other items had tuples here


class WatchEnded(_Partial, frozen=True, tag="ended"):
    watch: Watching


class SiteWatchStates(_Partial, frozen=True, tag="site_watch"):
    """For a watch over several sites that is due; `account`: shard 0 only."""

    watch: Watching
    result: States | Refused
    account: Account | None = None


class SiteWatchUnknown(_Partial, frozen=True, tag="site_watch_unknown"):
    """Another site goes on with a watch that nobody here knows."""

    site: str
    key: str
    watch: str


class SiteContributions(_Partial, frozen=True, tag="contributions"):
    """What came from all sites for a request that was asked here; of shard 0 alone."""

    asked: Asked
    contributions: list[SiteContribution]
    traffic: dict[str, Traffic]
    plugin: PackedPlugin | None = None  # this site's own, if their states are of one


Partial = (
    Reply
    | WatchStates
    | EachStates
    | WatchEnded
    | SiteWatchStates
    | SiteWatchUnknown
    | SiteContributions
)


def bundle(partials: Iterable[Partial]) -> bytes:
    """Partials that travel together. Parts that are equal travel once."""
    parts = _Parts()
    body = msgspec.json.encode(list(partials), enc_hook=parts.number_of)
    return pack([body, *parts.distinct])


def unbundle(bundled: bytes) -> list[Partial]:
    body, *parts = unpack(bundled)

    def part(kind: type, number: Any) -> Part:
        return Part(parts[number])

    return msgspec.json.decode(body, type=list[Partial], dec_hook=part)


class _Parts:
    """Parts in the order they first came in, each once."""

    def __init__(self) -> None:
        self.distinct: list[bytes] = []
        self._alike: dict[tuple[int, bytes], list[int]] = {}

    def number_of(self, value: Any) -> Any:
        if not isinstance(value, Part):
            return plain(value)
        # To hash all of it would take longer than to copy it; to compare equal ones does not.
        data = value.data
        alike = self._alike.setdefault((len(data), data[-_ENDING:]), [])
        for number in alike:
            if self.distinct[number] == data:
                return number
        alike.append(len(self.distinct))
        self.distinct.append(data)
        return alike[-1]
