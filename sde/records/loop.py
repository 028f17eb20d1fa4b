"""What the engine tells itself through its union topic, so that all shards learn it together.

Shards report, merge decides and writes, ingest spreads it to every shard in the next batch. A
message names the checkpoint it belongs to: others may use the topic, and what an earlier
checkpoint said of the time must not count for a new one.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, structs

from sde.records.asked import Asked
from sde.records.codec import encode
from sde.records.sites import Whole
from sde.wire import Fault, Plugin

Reached = dict[str, tuple[Whole, Whole]]  # by partition: latest time of a tuple, latest arrival


class _Message(Struct, frozen=True, kw_only=True, tag_field="op"):
    checkpoint: str = ""


class Tick(_Message, frozen=True, tag="tick"):
    """Time has passed. `caught_up`: nothing that arrived before is left to be read."""

    time: Whole
    caught_up: bool = False


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


class Due(_Message, frozen=True, tag="due"):
    """When the next tick is needed; for the service's clock, not for the shards."""

    at: Whole | None


class Admit(_Message, frozen=True, tag="admit"):
    """A plug-in to be examined; for the service, not for the shards."""

    request: Plugin


class Admitted(_Message, frozen=True, tag="admitted"):
    """How the examination of a plug-in ended: what its class declares, or a fault."""

    request: str  # its id
    declaration: dict[str, Any]
    fault: Fault | None = None


class Failed(_Message, frozen=True, tag="failed"):
    """A plug-in misbehaved: its kind is quarantined in all shards."""

    kind: str
    reason: str


Loop = Tick | Progress | Answered | Again | Due | Admit | Admitted | Failed
Report = Progress | Due | Failed  # what maintain says to merge beside its partials

_decoder = msgspec.json.Decoder(Loop)
_reports = msgspec.json.Decoder(list[Report])


class NotOurs(Exception):
    """The bytes are no message of this checkpoint's loop."""


def loop_bytes(message: Loop, checkpoint: str) -> bytes:
    return encode(structs.replace(message, checkpoint=checkpoint))


def decode_loop(payload: bytes, checkpoint: str) -> Loop:
    """The message in a payload of the union topic; NotOurs if it is none, or somebody else's.

    >>> decode_loop(loop_bytes(Tick(time=5), "c"), "c")
    Tick(time=5, caught_up=False, checkpoint='c')
    """
    message: Loop
    try:
        message = _decoder.decode(payload)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise NotOurs(str(error)) from None
    if message.checkpoint != checkpoint:
        raise NotOurs(f"of the checkpoint {message.checkpoint[:80]!r}")
    return message


def pack_reports(reports: list[Report]) -> bytes:
    return encode(reports)


def unpack_reports(body: bytes) -> list[Report]:
    return _reports.decode(body)
