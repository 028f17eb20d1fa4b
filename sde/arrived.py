"""A request as it arrived: where it stood, when it came, what it said or why it said nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sde.messages import Code, Fault


@dataclass(frozen=True, slots=True)
class Arrived:
    """`place` (topic-partition-offset) is unique; `time` is Kafka's, in ms."""

    place: str
    time: int
    message: dict[str, Any] | None
    fault: Fault | None = None

    @property
    def position(self) -> tuple[str, int]:
        """Log and offset of the place; the offset counts as a number: 9 comes before 10."""
        log, offset = self.place.rsplit("-", 1)
        return log, int(offset)

    def as_json(self) -> dict[str, Any]:
        fault = self.fault and [self.fault.code, self.fault.message, self.fault.field]
        return {"place": self.place, "time": self.time, "message": self.message, "fault": fault}

    @classmethod
    def from_json(cls, held: dict[str, Any]) -> Arrived:
        fault = held["fault"] and Fault(Code(held["fault"][0]), *held["fault"][1:])
        return cls(held["place"], held["time"], held["message"], fault)
