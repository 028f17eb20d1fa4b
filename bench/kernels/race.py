"""Contenders run in turn, round after round: figures are ratios within a round.

Time is the processor's, not the clock's: what else the machine does is not ours to measure.
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
from bench.kernels.numpy_ways import WAYS
from synopses import KINDS, BankedSynopsis, Items, Synopsis

SINGLE_GOAL, BANK_GOAL, NUMPY_GOAL = 5.0, 2.0, 1.0
WITH_GOALS = ("count_min", "hyperloglog", "bloom", "fm", "ams")
LARGEST_BANK = 400 * 2**20

Contender = tuple[int, Callable[[], Any]]  # number of items, what to run


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


def race(kind: str, setting: str, contenders: dict[str, Contender], rounds: int) -> Result:
    """Run all contenders in turn.

    "ours" starts from hashes, as a synopsis in the engine does, and so does numpy. DataSketches
    hashes each item itself: it is compared with "hashed", which starts from the texts.
    """
    for _, run in contenders.values():  # compile, and warm the caches
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, (n, run) in contenders.items():
            began = time.process_time()
            run()
            seconds[name].append((time.process_time() - began) / n)
    ratios = {}
    for name in contenders.keys() - {"ours", "hashed"}:
        base = seconds["ours" if name == "numpy" else "hashed"]
        each = [theirs / ours for theirs, ours in zip(seconds[name], base, strict=True)]
        ratios[name] = Ratio(median(each), min(each), max(each))
    speeds = {name: 1 / median(taken) for name, taken in seconds.items()}
    peer = peers.PEERS.get(kind)
    return Result(kind, setting, peer.name if peer else "", speeds, ratios)


def one(kind: str, columns: Columns, rounds: int) -> Result:
    """A single synopsis, from raw columns to state."""
    cls = KINDS[kind]
    template = _template(cls)
    # A window has one stream's ticks in it: ten items a second.
    if "times" in cls.reads:
        columns = _replace_times(columns)
    few = columns.first(max(1, len(columns) // 5))
    items = columns.items(cls)

    def add(items: Items) -> None:
        cls(**template.params).add(items)

    contenders: dict[str, Contender] = {
        "ours": (len(columns), lambda: add(items)),
        "hashed": (len(columns), lambda: add(columns.items(cls))),
    }
    peer = peers.PEERS.get(kind)
    if peer is not None:
        batch = peer.batch(few)
        contenders["per item"] = (len(few), lambda: peers.per_item(peer, batch))
        if peer.vectorised:
            contenders["vectorised"] = (len(columns), lambda: peers.vectorised(peer, columns))
    way = WAYS.get(kind)
    if way is not None:
        contenders["numpy"] = (len(columns), lambda: way(template, items))
    return race(kind, "one", contenders, rounds)


def bank(kind: str, columns: Columns, slots: int, rounds: int) -> Result | None:
    """As many synopses as slots, each item to its own; None where that is too large."""
    cls = KINDS[kind]
    template: Any = _template(cls)
    if not issubclass(cls, BankedSynopsis) or template.memory * slots > LARGEST_BANK:
        return None
    arrays = {n: np.zeros((slots, *s), t) for n, (t, s) in template.layout().items()}
    few = columns.first(max(1, len(columns) // 5))

    items, places = columns.items(cls), columns.slots
    contenders: dict[str, Contender] = {
        "ours": (len(columns), lambda: template.add_slots(arrays, places, items)),
        "hashed": (len(columns), lambda: template.add_slots(arrays, places, columns.items(cls))),
    }
    peer = peers.PEERS.get(kind)
    if peer is not None:
        sketches = [peer.make() for _ in range(slots)]
        batch, each = peer.batch(few), few.slots.tolist()
        contenders["per item"] = (len(few), lambda: peers.per_item_bank(sketches, batch, each))
    return race(kind, "bank", contenders, rounds)


def _template(cls: type[Synopsis]) -> Synopsis:
    windows = {"interval": 0.1, "window": 60, "basic_window": 6}
    params: dict[str, dict[str, Any]] = {
        "bloom": {"capacity": 10_000},
        "dft": windows,
        "lsh": {**windows, "bits": 64},
    }
    return cls(**params.get(cls.kind, {}))


def _replace_times(columns: Columns) -> Columns:
    fields = {name: getattr(columns, name) for name in columns.__slots__}
    return Columns(**{**fields, "times": np.arange(len(columns)) * 100})
