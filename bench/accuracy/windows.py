"""Kinds about sliding windows of many streams."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.accuracy.inputs import WALKS, walks
from bench.accuracy.promise import Errors, promise
from synopses import DFT, LSH, Items, Streams

STREAMS, TICKS = 30, 100
THRESHOLD, RECALL = 0.8, 0.9


def streams_of(template: Any, x: Any) -> Streams:
    """Every row of x with one item a tick; the last tick tells that the window is over."""
    bank = {n: np.zeros((len(x), *s), t) for n, (t, s) in template.layout().items()}
    slots = np.tile(np.arange(len(x), dtype=np.int32), x.shape[1])
    times = np.repeat(1_000 * np.arange(x.shape[1]), len(x))
    template.add_slots(bank, slots, Items.of(values=x.T.ravel(), times=times))
    return Streams([str(i) for i in range(len(x))], bank)


def exact_correlations(x: Any) -> Any:
    """Correlations of the rows, above the diagonal; 0 for one that does not move."""
    deviations = x - x.mean(axis=1, keepdims=True)
    deviations[np.ptp(x, axis=1) == 0] = 0
    length = np.sqrt((deviations**2).sum(axis=1, keepdims=True))
    unit = deviations / np.where(length > 0, length, 1)
    return np.triu(unit @ unit.T, 1)


def _dft(name: str, seed: int, keep_window: bool) -> tuple[Any, Any]:
    x = walks(name, seed, STREAMS, TICKS + 1)
    dft = DFT(window=TICKS, basic_window=10, keep_window=keep_window)
    return dft.pairs(streams_of(dft, x), threshold=THRESHOLD), exact_correlations(x[:, :TICKS])


@promise(
    "dft", says="no pair at or beyond the threshold is missing", inputs=WALKS, share_of_seeds=0.2
)
def none_missing(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed in seeds:
        answer, exact = _dft(name, seed, keep_window=seed % 2 == 0)
        found = {(int(a), int(b)) for a, b, *_ in answer.value}
        wanted = zip(*(i.tolist() for i in np.nonzero(np.abs(exact) >= THRESHOLD)), strict=True)
        errors += [0.0 if pair in found else np.inf for pair in wanted]
    return np.array(errors or [0.0])


@promise("dft", says="correlations within bounds", inputs=WALKS, share_of_seeds=0.2)
def correlations(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed in seeds:
        answer, exact = _dft(name, seed, keep_window=seed % 2 == 0)
        for a, b, value, lower, upper in answer.value:
            truth = exact[int(a), int(b)]
            room = max(upper - value if truth > value else value - lower, 1e-12)
            errors.append(abs(truth - value) / room)
    return np.array(errors or [0.0])


@promise(
    "lsh",
    says="a pair at or beyond the threshold is found with probability recall",
    delta=1 - RECALL,
    inputs=WALKS,
    share_of_seeds=0.2,
)
def recalled(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed in seeds:
        x = walks(name, seed, STREAMS, TICKS + 1)
        lsh = LSH(window=TICKS, basic_window=10, bits=128, seed=seed)
        answer = lsh.pairs(streams_of(lsh, x), threshold=THRESHOLD, recall=RECALL)
        found = {(int(a), int(b)) for a, b, *_ in answer.value}
        wanted = zip(
            *(
                i.tolist()
                for i in np.nonzero(np.abs(exact_correlations(x[:, :TICKS])) >= THRESHOLD)
            ),
            strict=True,
        )
        errors += [0.0 if pair in found else np.inf for pair in wanted]
    return np.array(errors or [0.0])


@promise("lsh", says="correlation within bounds", delta=0.05, inputs=WALKS, share_of_seeds=0.5)
def angles(kind: str, name: str, seeds: range) -> Errors:
    errors = []
    for seed in seeds:
        x = walks(name, seed, 6, TICKS + 1)
        lsh = LSH(window=TICKS, basic_window=10, bits=128, seed=seed)
        answer = lsh.correlation(streams_of(lsh, x), "1", "5")
        truth, value = exact_correlations(x[:, :TICKS])[1, 5], answer.value
        room = answer.upper - value if truth > value else value - answer.lower
        errors.append(abs(truth - value) / max(room, 1e-12))
    return np.array(errors)
