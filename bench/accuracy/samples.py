"""Kinds that keep some of the records: samples, coresets, trajectories."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.inputs import bank, values
from bench.accuracy.promise import Errors, off_by, promise
from synopses import Coreset, Estimate, Items, Trajectory

N, K = 400, 40
FEW_SIGMAS = 4.5  # one in 150,000 by chance
POINTS = ("clusters", "uniform", "constant", "adversarial")
SHIPS = ("steady", "turning", "erratic")


def _bank(kind: str, name: str, seeds: range) -> list[Any]:
    """Sampled are the last half of the items by chain_sample, all of them by sample."""
    window: dict[str, Any] = {"window": N // 2} if kind == "chain_sample" else {}

    def items(seed: int) -> dict[str, Any]:
        number = seed * N + np.arange(N)
        return {
            "keys": number,
            "values": values(name, seed, N),
            "times": np.arange(N),
            "ids": (number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15),
        }

    return bank(kind, seeds, items, k=K, **window)


@promise("sample", "chain_sample", says="each record is in the sample with probability k / n")
def evenly(kind: str, name: str, seeds: range) -> Errors:
    of = range(N // 2, N) if kind == "chain_sample" else range(N)
    tenth = len(of) // 10
    counts = np.zeros(10)
    for sample in _bank(kind, name, seeds):
        for record in sample.sample().value:
            counts[(record["time"] - of.start) // tenth] += 1
    # A sample's number of records from one tenth is hypergeometric.
    expected = len(seeds) * K / 10
    variance = expected * 0.9 * (len(of) - K) / (len(of) - 1)
    return np.asarray(np.abs(counts - expected) / (FEW_SIGMAS * np.sqrt(variance)))


@promise("sample", says="number of records within bounds", delta=0.05)
def population(kind: str, name: str, seeds: range) -> Errors:
    return np.array([off_by(s.population(), N) for s in _bank(kind, name, seeds)])


def _points(name: str, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    if name == "constant":
        return np.full((1_000, 2), 7.0)
    if name == "uniform":
        return rng.uniform(-1, 1, (1_000, 2))
    centres = rng.uniform(-100, 100, (5, 2))
    points = centres[rng.integers(0, 5, 1_000)] + rng.normal(size=(1_000, 2))
    if name == "adversarial":  # a few points far away decide the cost
        points[::250] *= 1_000
    return points


def cost_of(points: NDArray[np.float64], centres: Estimate) -> float:
    """The squared distances of all points to the nearest of the centres of an answer."""
    found = np.array([row["point"] for row in centres.value])
    return float(((points[:, None] - found) ** 2).sum(axis=2).min(axis=1).sum())


@promise(
    "coreset",
    says="cost of the centres over all points within bounds",
    inputs=POINTS,
    share_of_seeds=0.1,
)
def cost(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed in seeds:
        points = _points(name, seed)
        coreset = Coreset(dimensions=2, size=50)
        coreset.add(Items.of(values=points))
        answer = coreset.centres(5)
        truth = cost_of(points, answer)
        inside = answer.details["cost_lower"] <= truth * (1 + 1e-9)
        inside &= truth <= answer.details["cost_upper"] * (1 + 1e-9)
        room = max(answer.details["cost_upper"] - answer.details["cost"], 1e-300)
        errors.append(abs(truth - answer.details["cost"]) / room if inside else np.inf)
    return np.minimum(errors, np.where(np.isinf(errors), np.inf, 1.0))


@promise(
    "trajectory",
    says="a position left out is within all limits of the one kept before",
    inputs=SHIPS,
    share_of_seeds=0.1,
)
def left_out(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        step, turn = {"steady": (2e-5, 0.2), "turning": (2e-5, 3.0), "erratic": (4e-4, 40.0)}[name]
        track = np.array([37.9, 23.6]) + np.cumsum(rng.normal(0, step, (300, 2)), axis=0)
        course = rng.normal(0, turn, 300).cumsum() % 360
        speed = 12 + rng.normal(0, 0.3, 300)
        rows = np.column_stack([track, course, speed])
        times = np.cumsum(rng.integers(1_000, 15_000, 300))
        ship = Trajectory(capacity=300)
        ship.add(Items.of(values=rows, times=times))
        kept = {position["time"] for position in ship.track().value}
        before = 0
        for i, time in enumerate(times.tolist()):
            if time in kept:
                before = i
                continue
            errors.append(moved(ship, rows[before], rows[i], (time - times[before]) / 1000))
    return np.array(errors or [0.0])


def moved(ship: Trajectory, one: Any, two: Any, seconds: float) -> float:
    """The largest change, as a multiple of its limit."""
    (lat1, lon1), (lat2, lon2) = np.radians(one[:2]), np.radians(two[:2])
    h = math.sin((lat2 - lat1) / 2) ** 2
    h += math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    metres = 2 * 6_371_000 * math.asin(math.sqrt(h))
    turned = abs(two[2] - one[2]) % 360
    changes = (
        seconds / ship.min_period,
        metres / ship.min_distance / 1.002,  # the earth's radius depends on who you ask
        min(turned, 360 - turned) / ship.min_course_change,
        abs(two[3] - one[3]) / ship.min_speed_change,
    )
    return float(max(changes))
