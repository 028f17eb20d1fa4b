"""Goals a measurement has to meet; a missed one makes the command fail and is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure and what it has to be. A figure that was not measured counts for nothing."""

    name: str
    figure: float | None
    bound: float
    unit: str = ""
    at_most: bool = False

    @property
    def met(self) -> bool:
        if self.figure is None:
            return True
        return self.figure <= self.bound if self.at_most else self.figure >= self.bound

    @property
    def line(self) -> str:
        sign = "<=" if self.at_most else ">="
        wanted = f"{sign} {self.bound:g}{self.unit}"
        if self.figure is None:
            return f"not measured: {self.name} (goal {wanted})"
        said = "met" if self.met else "MISSED"
        return f"{said}: {self.name}: {self.figure:.3g}{self.unit} (goal {wanted})"

    def plain(self) -> dict[str, Any]:
        return {**asdict(self), "met": None if self.figure is None else self.met}


def verdict(goals: Sequence[Goal]) -> int:
    """Print each goal and how many are met; the exit code. To have measured none is a failure."""
    measured = [goal for goal in goals if goal.figure is not None]
    missed = [goal for goal in measured if not goal.met]
    for goal in goals:
        print(goal.line)
    left = f", {len(goals) - len(measured)} not measured" if len(measured) < len(goals) else ""
    print(f"{len(measured) - len(missed)} of {len(measured)} goals met{left}")
    return 1 if missed or not measured else 0
