"""What the engine tells itself through its union topic, so that all shards learn it together.

Shards report, merge decides and writes, ingest spreads it to every shard in the next batch. A
message names the checkpoint it belongs to: others may use the topic, and what an earlier
checkpoint said of the time must not count for a new one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from sde.wire.fields import Fields

Reached = dict[str, tuple[int, int]]  # by partition: latest time of a tuple, latest arrival


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed. `caught_up`: nothing that arrived before is left to be read."""

    op: ClassVar = "tick"
    time: int
    caught_up: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the clocks of a data set are, and whether tuples came for its watches."""

    op: ClassVar = "progress"
    dataset: str
    clocks: dict[str, Reached]
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """What a watch that answers on change has answered last."""

    op: ClassVar = "answered"
    watch: str
    number: int
    value: Any
    holds: bool | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """A question that is asked again because its shards saw different windows open.

    `arrived` is the request as it came; `at` is the moment all of them shall answer for.
    """

    op: ClassVar = "again"
    arrived: dict[str, Any]
    at: int


@dataclass(frozen=True, slots=True)
class Due:
    """When the next tick is needed; for the service's clock, not for the shards."""

    op: ClassVar = "due"
    at: int | None


@dataclass(frozen=True, slots=True)
class Admit:
    """A plug-in to be examined; for the service, not for the shards. Says what the request said."""

    op: ClassVar = "admit"
    request: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Admitted:
    """How the examination of a plug-in ended: what its class declares, or a fault."""

    op: ClassVar = "admitted"
    request: str  # its id
    declaration: dict[str, Any]
    fault: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A plug-in misbehaved: its kind is quarantined in all shards."""

    op: ClassVar = "failed"
    kind: str
    reason: str


Loop = Tick | Progress | Answered | Again | Due | Admit | Admitted | Failed
FOR_THE_SERVICE = (Due, Admit)
_OPS = ("tick", "progress", "answered", "again", "admit", "admitted", "failed", "due")


def loop_json(message: Loop, checkpoint: str) -> dict[str, Any]:
    return {"op": message.op, "checkpoint": checkpoint, **asdict(message)}


def decode_loop(message: dict[str, Any], checkpoint: str) -> Loop:
    """The record of a message of the union topic; Refusal if it is none, or somebody else's.

    >>> decode_loop({"op": "tick", "checkpoint": "c", "time": 5, "caught_up": True}, "c")
    Tick(time=5, caught_up=True)
    """
    fields = Fields(message)
    if fields.text("checkpoint") != checkpoint:
        fields.refuse("checkpoint", repr(checkpoint))
    match fields.choice("op", _OPS):
        case "tick":
            return Tick(fields.moment("time"), fields.flag("caught_up"))
        case "progress":
            clocks = {clock: _reached(fields, clock) for clock in fields.object("clocks")}
            return Progress(fields.text("dataset"), clocks, fields.flag("changed"))
        case "answered":
            holds = fields.flag("holds") if fields.has("holds") else None
            return Answered(
                fields.text("watch"), fields.moment("number"), fields.any("value"), holds
            )
        case "again":
            return Again(fields.object("arrived"), fields.moment("at"))
        case "admit":
            return Admit(fields.object("request"))
        case "admitted":
            fault = fields.object("fault") if fields.has("fault") else None
            return Admitted(fields.text("request"), fields.object("declaration"), fault)
        case "failed":
            return Failed(fields.text("kind"), str(fields.any("reason")))
        case _:
            return Due(fields.moment("at") if fields.has("at") else None)


def _reached(fields: Fields, clock: str) -> Reached:
    partitions = fields.nested("clocks").object(clock)
    for pair in partitions.values():
        fits = isinstance(pair, list | tuple) and len(pair) == 2
        if not fits or not all(isinstance(time, int) and abs(time) < 2**62 for time in pair):
            fields.refuse("clocks", "two times for each partition")
    return {partition: (pair[0], pair[1]) for partition, pair in partitions.items()}
