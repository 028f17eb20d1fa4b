"""What a law is, and the small things laws are written with."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from synopses.base import BankedSynopsis, Synopsis
from synopses.errors import SynopsisError
from synopses.items import Items
from synopses.questions import Estimate
from synopses.streams import Streams

N = 1_000  # example items, where a law needs no special number
_ROUNDING = 1e-9


class LawError(SynopsisError, AssertionError):
    """A class breaks a law."""


class Law:
    """A function of a class that raises if the class does not do as it should; see `law`."""

    __name__: str

    def __init__(self, function: Callable[..., None], traits: Sequence[str]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._traits = function, traits

    def __call__(self, cls: type[Synopsis], **options: Any) -> None:
        """LawError that names the law, whatever was raised."""
        if self.not_applicable(cls):
            return
        try:
            self._function(cls, **options)
        except Exception as error:
            raise LawError(f"{cls.__name__} breaks {self.__name__}: {error}") from error

    def not_applicable(self, cls: type[Synopsis]) -> str:
        """Why the law says nothing about a class: the trait that it lacks. "" if it does.

        >>> from synopses import LossyCounting
        >>> from synopses.laws import linear_states_subtract
        >>> linear_states_subtract.not_applicable(LossyCounting)
        'not linear'
        """
        return next((TRAITS[name][1] for name in self._traits if not TRAITS[name][0](cls)), "")


# What a law may demand a class to be before it says anything, and what a class is otherwise.
TRAITS: dict[str, tuple[Callable[[type[Synopsis]], bool], str]] = {
    "mergeable": (lambda cls: cls.mergeable, "not mergeable"),
    "linear": (lambda cls: cls.linear, "not linear"),
    "order_free": (lambda cls: cls.order_free, "not order_free"),
    "idempotent": (lambda cls: cls.idempotent, "not idempotent"),
    "sums_weights": (lambda cls: cls.sums_weights, "not sums_weights"),
    "banked": (lambda cls: issubclass(cls, BankedSynopsis), "not banked"),
    "values": (lambda cls: "values" in cls.reads, "reads no values"),
}


def law(*traits: str) -> Callable[[Callable[..., None]], Law]:
    """Mark a function as a law, for classes that have all these traits."""
    return lambda function: Law(function, traits)


def example_items(cls: type[Synopsis], seed: int, n: int = N) -> Items:
    """As an engine gives them: what is not in `reads` is empty."""
    items = cls.example_items(np.random.default_rng(seed), n)
    columns = {"keys", *cls.reads} if "texts" in cls.reads else cls.reads
    nothing = items.take(np.empty(0, np.int64))
    left_out = {"keys", "texts", "values", "times", "ids"} - columns
    return replace(items, **{name: getattr(nothing, name) for name in left_out})


def fractions(cls: type[Synopsis], seed: int, n: int = N) -> Items:
    """Example items with values whose sums as floats depend on the order, and zeros of both signs.

    Where values are not read these are the example items.
    """
    items = example_items(cls, seed, n)
    if "values" in cls.reads:
        items.values[:] /= 7
        items.values[::10] = 0.0
        items.values[5::10] = -0.0
    return items


def filled(cls: type[Synopsis], seed: int, n: int = N) -> Synopsis:
    synopsis = cls.example()
    synopsis.add(example_items(cls, seed, n))
    return synopsis


def split(items: Items, cuts: list[int]) -> list[Items]:
    return [items.take(part) for part in np.split(np.arange(len(items)), cuts)]


def answers(synopsis: Synopsis) -> Iterator[tuple[str, Estimate]]:
    """Every question of a synopsis, asked with the example's query."""
    cls = type(synopsis)
    for name, question in cls.questions.items():
        query = cls.example_query(name)
        if question.across:
            if isinstance(synopsis, BankedSynopsis):
                arrays = {n: np.repeat(a, 3, axis=0) for n, a in synopsis.arrays.items()}
                _, arguments = cls.check_query(query)
                streams = Streams(["a", "b", "c"], arrays)
                yield name, getattr(synopsis, name)(streams, **arguments)
        else:
            others = [cls.from_bytes(synopsis.to_bytes())] if question.others else []
            yield name, synopsis.estimate(query, *others)


def disagreement(one: Estimate, two: Estimate) -> str:
    """Why two answers cannot be about the same items; "" if they can.

    Intervals must overlap: both hold the truth, with the stated confidence. A number without
    bounds states no error: there is none but that of rounding. Lists and texts are not compared.

    >>> disagreement(Estimate(3, 1, 5), Estimate(6, 4, 8)), disagreement(Estimate(3), Estimate(3.0))
    ('', '')
    >>> disagreement(Estimate(3), Estimate(6))
    '3 and 6 differ (an answer without lower and upper is held to be exact)'
    """
    bounds = (one.lower, one.upper, two.lower, two.upper)
    if all(isinstance(bound, Real) for bound in bounds):
        apart = one.lower > two.upper or two.lower > one.upper
        return f"{one} and {two} do not overlap" if apart else ""
    if any(bound is not None for bound in bounds) or not isinstance(one.value, Real):
        return ""
    if isinstance(two.value, Real) and math.isclose(
        one.value, two.value, rel_tol=_ROUNDING, abs_tol=_ROUNDING
    ):
        return ""
    exact = "an answer without lower and upper is held to be exact"
    return f"{one.value} and {two.value} differ ({exact})"


def demand_same(one: Synopsis, two: Synopsis) -> None:
    if one.to_bytes() != two.to_bytes():
        raise LawError(_difference(one, two))


def _difference(one: Synopsis, two: Synopsis) -> str:
    """Where two states differ, for whoever looks for the reason."""
    if not isinstance(one, BankedSynopsis) or not isinstance(two, BankedSynopsis):
        return "the bytes differ"
    for name, array in one.arrays.items():
        other = two.arrays[name]
        places = np.argwhere(array[0] != other[0])
        if len(places):
            at = tuple(places[0].tolist())
            rounding = array.dtype.kind == "f" and np.allclose(array, other)
            return (
                f"the bytes differ: {len(places)} of {array[0].size} numbers of array {name!r}, "
                f"the first at {list(at)}: {array[0][at]} and {other[0][at]}"
                + ("; sums of floats depend on the order of adding" if rounding else "")
            )
    return "the bytes differ, and the arrays do not"


def demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise LawError(otherwise)
