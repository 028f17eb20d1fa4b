"""Which parameters give which error, and what they cost: computed by the kinds themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from synopses import FM, KINDS, HyperLogLog, ParameterError, Quantiles, Synopsis, Theta

ERRORS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0001)
_LARGEST = 64 << 20  # bytes: what needs more is not suggested
_SIGMAS = 3  # between the value and a bound, of counts of distinct keys


class Sized(NamedTuple):
    """How a kind is made for an error; `error` reads it off a synopsis."""

    meaning: str  # of the error
    parameter: str  # that decides it
    make: Callable[[float], Synopsis]
    error: Callable[[Any], float]


def _by(kind: str, parameter: str, meaning: str) -> Sized:
    """A kind whose parameter is the error itself."""
    return Sized(
        meaning,
        parameter,
        lambda error: KINDS[kind](**{parameter: error}),
        lambda made: float(getattr(made, parameter)),
    )


def _sigma(error: float) -> float:
    """The standard error with which an upper bound is so much above the value."""
    return error / (1 + error) / _SIGMAS


def _above(made: Theta | FM) -> float:
    """How much an upper bound is above the value."""
    return 1 / (1 - _SIGMAS * made.relative_error) - 1


_OF_TOTAL = "of a count, as a share of the total of all counts"
_OF_DISTINCT = "of the number of distinct keys, relative to it, with probability 0.99"
SIZED: dict[str, Sized] = {
    "count_min": _by("count_min", "epsilon", f"{_OF_TOTAL}, with probability 0.99"),
    "count_min_conservative": _by(
        "count_min_conservative", "epsilon", f"{_OF_TOTAL}, with probability 0.99"
    ),
    "frequent_items": _by("frequent_items", "epsilon", _OF_TOTAL),
    "lossy_counting": _by("lossy_counting", "epsilon", _OF_TOTAL),
    "sticky_sampling": _by("sticky_sampling", "epsilon", _OF_TOTAL),
    "top_k": _by("top_k", "epsilon", f"{_OF_TOTAL} (by total)"),
    "ams": _by(
        "ams", "epsilon", "of a join, as a share of the product of norms, with probability 0.99"
    ),
    "bloom": _by(
        "bloom",
        "fpp",
        "of a yes: wrong so often, while at most capacity keys were added",
    ),
    "hyperloglog": Sized(
        _OF_DISTINCT,
        "lg_k",
        lambda error: HyperLogLog.from_error(math.log1p(error) / _SIGMAS),
        lambda made: math.expm1(_SIGMAS * made.relative_error),
    ),
    "theta": Sized(_OF_DISTINCT, "lg_k", lambda error: Theta.from_error(_sigma(error)), _above),
    "fm": Sized(_OF_DISTINCT, "bitmaps", lambda error: FM.from_error(_sigma(error)), _above),
    "quantiles": Sized(
        "of a rank (0.01: a p99 lies between p98 and p100), with probability 0.99",
        "k",
        Quantiles.from_error,
        lambda made: float(made.rank_error),
    ),
    "log_histogram": _by("log_histogram", "relative_error", "of a quantile, relative to it"),
    "histogram": Sized(
        "of a quantile, as a share of the range from low to high",
        "buckets",
        lambda error: KINDS["histogram"](buckets=math.ceil(1 / error)),
        lambda made: 1 / made.buckets,
    ),
}


class Size(NamedTuple):
    """A choice of the parameter, by its error; no value stands for the default."""

    error: float
    value: float | int | None
    memory: int


def default_size(kind: str) -> Size:
    made = KINDS[kind]()
    return Size(SIZED[kind].error(made), None, made.memory)


def sizes(kind: str) -> list[Size]:
    """What gives each of the errors, as far as the kind can."""
    found = []
    for error in ERRORS:
        try:
            made = SIZED[kind].make(error)
        except ParameterError:
            continue
        if made.memory <= _LARGEST:
            value = getattr(made, SIZED[kind].parameter)
            found.append(Size(error, value, made.memory))
    return found


def declared_sizes(kind: str) -> dict[str, Any]:
    """The same for the catalogue of kinds; nothing for a kind without such an error."""
    if kind not in SIZED:
        return {}
    default = default_size(kind)
    choices = [{"error": s.error, "value": s.value, "memory": s.memory} for s in sizes(kind)]
    return {
        "sizes": {
            "meaning": SIZED[kind].meaning,
            "parameter": SIZED[kind].parameter,
            "default_error": float(f"{default.error:.3g}"),
            "default_memory": default.memory,
            "choices": choices,
        }
    }
