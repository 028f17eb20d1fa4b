"""Contenders run in turn, round after round: figures are ratios within a round.

All get the same items. Two fair starting points:

from texts    what Apache DataSketches is compared with: it gets Python's texts ready made, hashes
              each and adds it; we hash the column of texts and add it. Kinds that read only
              numbers start from the column of numbers, DataSketches from a list of them.
from hashes   what plain numpy is compared with: both get hashed keys, as every synopsis after
              the first on a column does in the engine.

Every run starts with empty synopses, made beforehand and not timed; one of a bank gets 200 items
at the default sizes. Ours weigh keys by a value where the kind can; DataSketches counts them, which
is less work. Time is the processor's, not the clock's: what else the machine does is not ours to
measure.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from bench.kernels import peers
from bench.kernels.columns import Columns
from bench.kernels.numpy_ways import SAME_STATE, SAME_USE
from synopses import KINDS, BankedSynopsis, Synopsis
from synopses.base import Arrays

SINGLE_GOAL, BANK_GOAL, NUMPY_GOAL = 5.0, 2.0, 1.0
WITH_GOALS = ("count_min", "hyperloglog", "bloom", "fm", "ams")

# What makes an empty state, and what fills it.
Contenders = dict[str, tuple[Callable[[], Any], Callable[[Any], None]]]


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times faster we are: median of the rounds, worst and best."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Result:
    """Updates a second of one kind in one setting, by contender, and ratios to ours."""

    kind: str
    setting: str  # "one" or "bank"
    peer: str
    speeds: dict[str, float]
    ratios: dict[str, Ratio]

    def goals(self) -> dict[str, float]:
        """The ratios asked for."""
        goals = {"numpy": NUMPY_GOAL} if "numpy" in self.ratios else {}
        if self.kind in WITH_GOALS:
            goals["per item"] = SINGLE_GOAL if self.setting == "one" else BANK_GOAL
        return goals

    def missed(self) -> list[str]:
        goals = self.goals().items()
        return [name for name, goal in goals if self.ratios[name].median < goal]


def race(kind: str, setting: str, n: int, contenders: Contenders, rounds: int) -> Result:
    """Run all contenders in turn, each with n items; the first round only warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, (empty, fill) in contenders.items():
            state = empty()
            began = time.process_time()
            fill(state)
            taken = time.process_time() - began
            if number > 0:
                seconds[name].append(taken / n)
    seconds.setdefault("from texts", seconds["from hashes"])  # a kind that reads no keys
    ratios = {}
    for name in contenders.keys() - {"from hashes", "from texts"}:
        base = seconds["from hashes" if name == "numpy" else "from texts"]
        each = [theirs / ours for theirs, ours in zip(seconds[name], base, strict=True)]
        ratios[name] = Ratio(median(each), min(each), max(each))
    speeds = {name: 1 / median(taken) for name, taken in seconds.items()}
    peer = peers.PEERS.get(kind)
    return Result(kind, setting, peer.name if peer else "", speeds, ratios)


def one(kind: str, columns: Columns, rounds: int) -> Result:
    """A single synopsis, all items to it."""
    cls, template = KINDS[kind], _template(KINDS[kind])
    items = columns.items(cls, one=True)

    def empty() -> Synopsis:
        return cls(**template.params)

    contenders: Contenders = {"from hashes": (empty, lambda made: made.add(items))}
    if "keys" in cls.reads:
        from_texts = (empty, lambda made: made.add(columns.items(cls, one=True)))
        contenders["from texts"] = from_texts
    peer = peers.PEERS.get(kind)
    if peer is not None:
        contenders["per item"] = (peer.make, lambda made: peers.per_item(peer, made, columns))
        if peer.vectorised:
            contenders["vectorised"] = (
                peer.make,
                lambda made: made.update(getattr(columns, peer.column)),
            )
    if kind in SAME_STATE:
        contenders["numpy"] = (
            lambda: _arrays(template, 1),
            lambda made: SAME_STATE[kind](template, made, None, items),
        )
    elif kind in SAME_USE:
        contenders["numpy"] = (lambda: None, lambda _: SAME_USE[kind](template, items))
    return race(kind, "one", len(columns), contenders, rounds)


def bank(kind: str, columns: Columns, slots: int, rounds: int) -> Result:
    """As many synopses as slots, each item to its own."""
    cls, places = KINDS[kind], columns.slots
    template = _template(cls)
    items, arrays = columns.items(cls, one=False), _arrays(template, slots)

    def empty() -> Arrays:
        """Emptied, not made anew: fresh memory would be slow for whoever touches it first."""
        for array in arrays.values():
            array[...] = 0
        return arrays

    contenders: Contenders = {
        "from hashes": (empty, lambda made: template.add_slots(made, places, items))
    }
    if "keys" in cls.reads:
        contenders["from texts"] = (
            empty,
            lambda made: template.add_slots(made, places, columns.items(cls, one=False)),
        )
    peer = peers.PEERS.get(kind)
    if peer is not None:
        contenders["per item"] = (
            lambda: [peer.make() for _ in range(slots)],
            lambda made: peers.per_item_bank(peer, made, columns),
        )
    if kind in SAME_STATE:
        contenders["numpy"] = (
            empty,
            lambda made: SAME_STATE[kind](template, made, places, items),
        )
    return race(kind, "bank", len(columns), contenders, rounds)


def _arrays(template: BankedSynopsis, slots: int) -> Arrays:
    return {n: np.zeros((slots, *shape), t) for n, (t, shape) in template.layout().items()}


def _template(cls: type[Synopsis]) -> BankedSynopsis:
    """Defaults, but for kinds that have to know what comes: prices, ten times a second."""
    windows = {"interval": 0.1, "window": 60, "basic_window": 6}
    params: dict[str, dict[str, Any]] = {
        "dft": windows,
        "histogram": {"high": 1000},
        "lsh": {**windows, "bits": 64},
    }
    template = cls(**params.get(cls.kind, {}))
    assert isinstance(template, BankedSynopsis)
    return template
