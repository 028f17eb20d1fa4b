"""The questions: one by itself, many at once, and how right their answers are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clients import Answer, Client
from clients.pending import Pending

THRESHOLD = 0.9
QUESTIONS = 20  # that are asked at once
MOST_PAIRS = 200_000  # of an answer


@dataclass(frozen=True, slots=True)
class Accuracy:
    recall: float
    precision: float


def thresholds() -> list[float]:
    """One for each question, all different: no answer can be made from another."""
    return [float(threshold) for threshold in np.linspace(THRESHOLD, THRESHOLD + 0.01, QUESTIONS)]


def ask_one(sde: Client, uid: str) -> tuple[Answer, float]:
    """The answer, and the seconds it took."""
    began = time.monotonic()
    answer = _submit(sde, uid, THRESHOLD).result()
    return answer, time.monotonic() - began


def ask_many(sde: Client, uid: str, thresholds: Sequence[float]) -> tuple[list[Answer], float]:
    """The answers in the order of their questions, and the seconds all of them took."""
    began = time.monotonic()
    pending = [_submit(sde, uid, threshold) for threshold in thresholds]
    answers = [one.result() for one in pending]
    return answers, time.monotonic() - began


def _submit(sde: Client, uid: str, threshold: float) -> Pending[Answer]:
    return sde.submit_estimate(uid, "pairs", threshold=threshold, limit=MOST_PAIRS)


def accuracy(
    answer: Answer, exact: dict[tuple[str, str], float], threshold: float = THRESHOLD
) -> Accuracy:
    """Of an answer, against the exact correlations of all pairs that can be in it."""
    wanted = {pair for pair, value in exact.items() if abs(value) >= threshold}
    found = {(min(pair[:2]), max(pair[:2])) for pair in answer.value}
    right = len(found & wanted)
    return Accuracy(right / max(1, len(wanted)), right / max(1, len(found)))


def worst(found: Sequence[Accuracy]) -> Accuracy:
    return Accuracy(min(each.recall for each in found), min(each.precision for each in found))
