"""What the engine tells itself through its union topic, so that all shards learn it together.

Shards report, merge decides and writes, ingest spreads it to every shard in the next batch. A
message is sealed (`sde.records.seal`): others may be able to write to the topic, and what an
earlier checkpoint said of the time must not count for a new one.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from sde.plugins.version import Predecessor, Succession
from sde.records.asked import Asked
from sde.records.codec import encode
from sde.records.seal import Forged, LoopSeal, NotOurs
from sde.records.sites import Count, Whole
from sde.records.sources import SourceSet
from sde.wire import Fault, Plugin

Reached = dict[str, tuple[Whole, Whole]]  # by partition: latest time of a tuple, latest arrival


class _Message(Struct, frozen=True, kw_only=True, tag_field="op"):
    pass


class Tick(_Message, frozen=True, tag="tick"):
    """Time has passed. `caught_up`: nothing that arrived before is left to be read."""

    time: Whole
    caught_up: bool = False
    left: dict[str, Count] = {}  # messages to be read, by partition of the data topics, if known


class Progress(_Message, frozen=True, tag="progress"):
    """How far the clocks of a data set are, and whether tuples came for its watches."""

    dataset: str
    clocks: dict[str, Reached]
    changed: bool = False


class Answered(_Message, frozen=True, tag="answered"):
    """What a watch that answers on change has answered last."""

    watch: str
    number: Whole
    value: Any
    holds: bool | None = None


class Again(_Message, frozen=True, tag="again"):
    """A question that is asked again because its shards saw different windows open.

    `at` is the moment all of them shall answer for.
    """

    asked: Asked
    at: Whole


class AskedEach(_Message, frozen=True, tag="each"):
    """Keys for which a watch has not answered yet, because not every shard had tuples then."""

    watch: str
    keys: list[str]
    left_out: int = 0  # how many others came


class Due(_Message, frozen=True, tag="due"):
    """When the next tick is needed; for the service's clock, not for the shards."""

    at: Whole | None


class Admit(_Message, frozen=True, tag="admit"):
    """A plug-in to be examined; for the service, not for the shards."""

    request: Plugin
    predecessor: Predecessor | None = None


class Admitted(_Message, frozen=True, tag="admitted"):
    """How the examination of a plug-in ended: what its class declares, or a fault.

    `sha256` is that of the source that was examined: ids of requests may be used again.
    """

    request: str  # its id
    declaration: dict[str, Any]
    fault: Fault | None = None
    sha256: str = ""  # as messages of earlier versions have it: not known
    successions: list[Succession] = []  # how it takes over synopses, if it was asked to


class Decided(_Message, frozen=True, tag="decided"):
    """Whether a version of a plug-in that was tried in all shards is taken, or why not."""

    request: str  # its id
    fault: Fault | None = None


class Noted(_Message, frozen=True, tag="noted"):
    """What became of a plug-in; for the log of the service, not for the shards."""

    what: str  # taken, migrated, refused, quarantined, released, removed
    plugin: str
    version: int | None
    key: str
    reason: str = ""


class Sourced(_Message, frozen=True, tag="sourced"):
    """The sources that are read from now on; for the planning of batches, not for the shards."""

    sources: SourceSet


class Failed(_Message, frozen=True, tag="failed"):
    """A plug-in misbehaved: its kind is quarantined in all shards."""

    kind: str
    reason: str


Loop = (
    Tick
    | Progress
    | Answered
    | Again
    | AskedEach
    | Due
    | Admit
    | Admitted
    | Decided
    | Failed
    | Noted
    | Sourced
)
Report = (
    Progress | Due | Failed | Noted | Sourced
)  # what maintain says to merge beside its partials

_decoder = msgspec.json.Decoder(Loop)
_reports = msgspec.json.Decoder(list[Report])


class _Unsealed(Struct):
    """What a message had in the place of a seal in earlier versions."""

    checkpoint: str


def loop_bytes(message: Loop, seal: LoopSeal, batch: int | None = None) -> bytes:
    """A message for the union topic; `batch` is the one that writes it, if one does."""
    return seal.close(encode(message), batch)


def decode_loop(body: bytes) -> Loop:
    """The message in a body whose seal was fitting; Forged if it is none all the same.

    >>> seal = LoopSeal.new()
    >>> decode_loop(seal.open(loop_bytes(Tick(time=5), seal)).body)
    Tick(time=5, caught_up=False, left={})
    """
    try:
        message: Loop = _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise Forged(f"it is no message of the loop: {error}"[:300]) from None
    return message


def decode_unsealed(payload: bytes, checkpoint: str) -> Loop:
    """A message as earlier versions wrote it; NotOurs if it names another checkpoint."""
    message = decode_loop(payload)
    try:
        named = msgspec.json.decode(payload, type=_Unsealed).checkpoint
    except (msgspec.DecodeError, RecursionError, ValueError):
        raise Forged("it names no checkpoint") from None
    if named != checkpoint:
        raise NotOurs(f"of the checkpoint {named[:80]!r}")
    return message


def pack_reports(reports: list[Report]) -> bytes:
    return encode(reports)


def unpack_reports(body: bytes) -> list[Report]:
    return _reports.decode(body)
