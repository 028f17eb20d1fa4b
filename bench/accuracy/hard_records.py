"""Kinds that keep records, points or windows: extreme numbers, tiny synopses, merged parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.hard import (
    CASES,
    SHARE_OF_SEEDS,
    WHOLE,
    Floats,
    magnitudes,
    misses,
    numbers,
    parameters,
    synopses,
)
from bench.accuracy.inputs import WALKS, walks
from bench.accuracy.promise import Errors, promise
from bench.accuracy.samples import cost_of, moved
from bench.accuracy.windows import exact_correlations, streams_of
from synopses import DFT, LSH, Items, Trajectory

N, K = 300, 20
STREAMS = 12


def _records(case: str, seed: int, signed: bool) -> dict[str, Any]:
    number = seed * N + np.arange(N)
    ids = (number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    values = numbers(case, seed, N, signed)
    return {"keys": number, "values": values, "times": np.arange(N), "ids": ids}


@promise(
    "sample",
    says="hard: number and weight of records within bounds",
    delta=0.05,
    inputs=CASES,
    share_of_seeds=2.0,
)
def populations(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    for weighted in (False, True):
        params = parameters(case, {"k": 1}, {"k": K})
        found = synopses(
            *(case, kind, seeds, lambda seed: _records(case, seed, signed=False)),
            **(params | {"weighted": weighted}),
        )
        for seed, sample in zip(seeds, found, strict=True):
            weight = float(_records(case, seed, signed=False)["values"].sum())
            truth = weight if weighted else float(N)
            errors.append(misses(sample.population(), truth, truth))
    return np.array(errors)


@promise(
    "chain_sample",
    says="hard: k of the last `window` records, as they came",
    inputs=WHOLE,
    share_of_seeds=SHARE_OF_SEEDS,
)
def last_records(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    params = parameters(case, {"k": 1, "window": 1}, {"k": K, "window": N // 2})
    found = synopses(case, kind, seeds, lambda seed: _records(case, seed, signed=True), **params)
    for seed, sample in zip(seeds, found, strict=True):
        values, shown = _records(case, seed, signed=True)["values"], sample.sample().value
        times = [record["time"] for record in shown]
        late = len(set(times)) == sample.k and min(times) >= N - sample.window
        same = all(record["value"] == values[record["time"]] for record in shown)
        errors.append(0.0 if late and same else np.inf)
    return np.array(errors)


def _points(case: str, seed: int, dimensions: int) -> Floats:
    return numbers(case, seed, N * dimensions).reshape(N, dimensions)


@promise(
    "coreset",
    says="hard: cost of the centres over all points within bounds",
    inputs=CASES,
    share_of_seeds=0.05,
)
def costs(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    params = parameters(case, {"dimensions": 1, "size": 2}, {"dimensions": 3, "size": 20})
    d = params["dimensions"]
    found = synopses(case, kind, seeds, lambda seed: {"values": _points(case, seed, d)}, **params)
    for seed, coreset in zip(seeds, found, strict=True):
        points = _points(case, seed, d)
        for k in (1, 2):
            answer = coreset.centres(k)
            truth, room = cost_of(points, answer), 1e-9 * float((points**2).sum())
            lower, upper = answer.details["cost_lower"], answer.details["cost_upper"]
            errors.append(0.0 if lower - room <= truth <= upper + room else np.inf)
    return np.array(errors)


def _track(case: str, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """A ship; with magnitudes, over the 180th meridian or by a pole, and of any speed."""
    rng = np.random.default_rng(seed)
    start = [(0.0, 179.999), (89.999, 0.0), (-89.999, -179.999)][seed % 3]
    track = np.array(start) + np.cumsum(rng.normal(0, 2e-5, (N, 2)), axis=0)
    track[:, 0] = np.clip(track[:, 0], -90, 90)
    track[:, 1] = (track[:, 1] + 180) % 360 - 180
    course = rng.normal(0, 1.0, N).cumsum() % 360
    speed = magnitudes(seed, N) if case == "magnitudes" else rng.normal(12, 0.3, N)
    return np.column_stack([track, course, speed]), np.cumsum(rng.integers(1_000, 15_000, N))


@promise(
    "trajectory",
    says="hard: a position left out is within all limits of the one kept before",
    inputs=WHOLE,
    share_of_seeds=0.05,
)
def left_out(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    for seed in seeds:
        rows, times = _track(case, seed)
        ship = Trajectory(capacity=1 if case == "smallest" else N)
        ship.add(Items.of(values=rows, times=times))
        kept = {position["time"] for position in ship.track().value}
        before = int(np.searchsorted(times, min(kept)))  # of what is held; earlier ones are gone
        for i in range(before, N):
            if times[i] in kept:
                before = i
                continue
            seconds = (times[i] - times[before]) / 1000
            errors.append(moved(ship, rows[before], rows[i], seconds))
    return np.array(errors or [0.0])


def _walks(case: str, seed: int, ticks: int) -> Floats:
    """Walks of very different sizes."""
    x = walks(WALKS[seed % len(WALKS)], seed, STREAMS, ticks + 1)
    if case == "smallest":
        return x
    rng = np.random.default_rng(seed)
    return np.asarray(x * 10.0 ** rng.uniform(-12, 15, (STREAMS, 1)))


@promise(
    "dft",
    says="hard: no pair is missing, correlations within bounds",
    inputs=WHOLE,
    share_of_seeds=0.1,
)
def correlations(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    smallest = {"window": 6, "basic_window": 2, "coefficients": 2}
    params = parameters(case, smallest, {"window": 100, "basic_window": 10})
    for seed in seeds:
        dft = DFT(**params, keep_window=seed % 2 == 0)
        x = _walks(case, seed, dft.window_ticks)
        exact = exact_correlations(x[:, : dft.window_ticks])
        found = {}
        for a, b, _, lower, upper in dft.pairs(streams_of(dft, x), threshold=0.7).value:
            pair = int(a), int(b)
            found[pair] = True
            errors.append(0.0 if lower - 1e-9 <= exact[pair] <= upper + 1e-9 else np.inf)
        wanted = zip(*(i.tolist() for i in np.nonzero(np.abs(exact) >= 0.7)), strict=True)
        errors += [0.0 if pair in found else np.inf for pair in wanted]
    return np.array(errors or [0.0])


@promise(
    "lsh",
    says="hard: correlation within bounds",
    delta=0.05,
    inputs=WHOLE,
    share_of_seeds=0.2,
)
def angles(kind: str, case: str, seeds: range) -> Errors:
    errors = []
    smallest = {"window": 4, "basic_window": 1, "bits": 64}
    params = parameters(case, smallest, {"window": 100, "basic_window": 10, "bits": 128})
    for seed in seeds:
        lsh = LSH(**params, seed=seed)
        x = _walks(case, seed, lsh.window_ticks)
        answer = lsh.correlation(streams_of(lsh, x), "1", "5")
        truth = exact_correlations(x[:, : lsh.window_ticks])[1, 5]
        errors.append(misses(answer, truth, 1e3))
    return np.array(errors)
