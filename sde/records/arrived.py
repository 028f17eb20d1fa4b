"""A request as it arrived: where it stood, when it came, what it said or why it said nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sde.wire import Fault


@dataclass(frozen=True, slots=True)
class Arrived:
    """`place` (topic-partition-offset) is unique; `time` is Kafka's, in ms.

    `loop`: it came through the union topic, from the engine itself. `at`: the moment a question
    that is asked again is about. `attached`: what ingest found for it outside the engine.
    `federated`: what makes it one of several sites (see sde.federation).
    """

    place: str
    time: int
    message: dict[str, Any] | None
    fault: Fault | None = None
    loop: bool = False
    at: int | None = None
    attached: dict[str, Any] | None = None
    infore: dict[str, Any] | None = None  # the request as it came, in INFORE's dialect
    federated: dict[str, Any] | None = None

    @property
    def for_one_shard(self) -> bool:
        """What other sites say goes to the desk, which the first shard has."""
        return self.loop and self.federated is not None

    @property
    def position(self) -> tuple[str, int]:
        """Log and offset of the place; the offset counts as a number: 9 comes before 10."""
        log, _, offset = self.place.rpartition("-")
        return (log, int(offset)) if offset.isdigit() else (self.place, 0)

    def as_json(self) -> dict[str, Any]:
        """Without what is not set. Shallow: there are thousands of them in a batch."""
        held = {name: getattr(self, name) for name in self.__slots__}
        if self.fault is not None:
            held["fault"] = asdict(self.fault)
        return {name: v for name, v in held.items() if v is not None and v is not False}

    @classmethod
    def from_json(cls, held: dict[str, Any]) -> Arrived:
        fault = held.get("fault")
        fault = None if fault is None else Fault.from_record(fault)
        return cls(**{"message": None, **held, "fault": fault})
