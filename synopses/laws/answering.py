"""Bytes come back, and questions are answered."""

from __future__ import annotations

import json
from numbers import Real

from synopses.base import Synopsis
from synopses.laws.law import (
    answers,
    demand,
    demand_same,
    example_items,
    filled,
    law,
)


@law()
def bytes_come_back(cls: type[Synopsis]) -> None:
    """from_bytes(to_bytes()) has the same bytes, and goes on as the original would."""
    for original in (cls.example(), filled(cls, seed=2)):
        restored = cls.from_bytes(original.to_bytes())
        demand_same(restored, original)
        for synopsis in (original, restored):
            synopsis.add(example_items(cls, seed=3))
        demand_same(restored, original)


@law()
def every_question_is_answered(cls: type[Synopsis]) -> None:
    """Empty or filled, each answer is plain JSON, with lower <= value <= upper if numbers."""
    for synopsis in (cls.example(), filled(cls, seed=4)):
        for name, answer in answers(synopsis):
            text = json.dumps([answer.value, answer.lower, answer.upper, dict(answer.details)])
            whole = "NaN" not in text and "Infinity" not in text
            demand(whole, f"{name} is not finite: {text[:200]}")
            known = [x for x in (answer.lower, answer.value, answer.upper) if isinstance(x, Real)]
            demand(known == sorted(known), f"{name}: bounds {known}")


@law()
def estimating_changes_nothing(cls: type[Synopsis]) -> None:
    """A question leaves the bytes as they were, and asked again gets the same answer."""
    synopsis = filled(cls, seed=5)
    before = synopsis.to_bytes()
    first, second = list(answers(synopsis)), list(answers(synopsis))
    demand(first == second, "a second answer differs")
    unchanged = synopsis.to_bytes() == before
    demand(unchanged, "the bytes differ after estimating")
