"""Weights as whole units: sums of whole numbers do not depend on the order of adding.

What is lost by it is kept beside the sums, in an array `losses` of three numbers for each synopsis:
how far positive weights were from their units, the same of negative ones (both in 1/1024 units,
rounded up), and the sum of the absolute weights in 2^20 units, each rounded down. The first two
bound every error by rounding. The third says when sums may be beyond 64 bits: while it is below
2^62 units none is, if fewer than 2^42 weights came. All three are sums of numbers that are not
negative: they merge by adding, and stop at 2^61. A weight that is a whole unit to the precision of
a float loses nothing.

States without losses have zeros there, which their bytes leave out: these are the bytes of the
versions before this account. What states of those versions lost is not known and not stated.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from synopses.errors import StateError
from synopses.items import Items, Sums
from synopses.kernels import fixed_point as kernel

LOSSES = "losses"
LAYOUT: dict[str, tuple[Any, tuple[int, ...]]] = {LOSSES: (np.int64, (3,))}

_LARGEST = 2.0**62  # units of one weight; and of the sum of all, before it counts as saturated
_SATURATED = 2 ** (62 - kernel.LARGE_BITS)


class Losses(NamedTuple):
    """What the sums of a synopsis do not tell."""

    rounding: float  # no sum of weights is off by more
    negative: bool  # negative weights were rounded
    saturated: bool  # sums may be beyond 64 bits, or weights were cut

    @property
    def details(self) -> dict[str, Any]:
        """What an answer says about it; nothing if nothing was lost."""
        if self.saturated:
            return {"saturated": True}
        return {"rounding": self.rounding} if self.rounding else {}


def to_units(
    weights: NDArray[np.float64],
    decimals: int,
    losses: NDArray[np.int64],
    slots: NDArray[np.int32],
    positive_only: bool = False,
) -> NDArray[np.int64]:
    """Weights in units of 10^-decimals, rounded; what that loses is added to the losses.

    Beyond 2^62 units they are cut to that. `positive_only`: others are left out by the caller.

    >>> losses = np.zeros((1, 3), np.int64)
    >>> to_units(np.array([1.0, 0.1254]), 3, losses, np.zeros(2, np.int32)).tolist()
    [1000, 125]
    >>> losses.tolist()
    [[410, 0, 0]]
    """
    unit = 10.0**decimals
    out = np.empty(len(weights), np.int64)
    if kernel.to_units(weights, unit, _LARGEST / unit, out):
        kernel.add_losses(losses, slots, weights, unit, _LARGEST / unit, positive_only)
    return out


def sum_up(
    weights: NDArray[np.float64], decimals: int, places: NDArray[np.int32], count: int
) -> Sums:
    """What the weights come to at each of `count` places; weight i is at places[i].

    A kind that `sums_weights` gets the same state from these sums as from the weights.

    >>> sum_up(np.array([1.0, -3.0, 2.0]), 0, np.array([0, 1, 1], np.int32), 2).sizes.tolist()
    [1, 5]
    """
    losses = np.zeros((count, 3), np.int64)
    units = to_units(weights, decimals, losses, places)
    sums, sizes = np.zeros(count, np.int64), np.zeros(count, np.int64)
    kernel.sum_up(places, units, sums, sizes)
    return Sums(decimals, sums, sizes, losses if losses.any() else losses[:0])


def weights_of(
    items: Items, decimals: int, losses: NDArray[np.int64], slots: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The weights of items in units, and their absolute values; `losses` grow by theirs."""
    sums = items.sums
    if sums is None:
        units = to_units(items.values, decimals, losses, slots)
        return units, np.abs(units)
    assert sums.decimals == decimals, "sums in other units than those of the synopsis"
    if len(sums.losses):
        kernel.merge_losses(losses, slots, sums.losses)
    return sums.units, sums.sizes


def losses_of(losses: NDArray[np.int64], decimals: int) -> Losses:
    """What the row of one synopsis says."""
    positive, negative, magnitude = losses.tolist()
    rounding = (positive + negative) / kernel.SUBUNITS / 10.0**decimals
    return Losses(rounding, negative > 0, magnitude >= _SATURATED)


def merge_losses(mine: NDArray[np.int64], theirs: NDArray[np.int64]) -> None:
    np.minimum(mine + theirs, kernel.MOST, out=mine)


def subtract_losses(mine: NDArray[np.int64], theirs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of a part taken away: never below none, and where they stopped they stay.

    >>> subtract_losses(np.array([5, 1, 2**61]), np.array([2, 2, 2])).tolist() == [3, 0, 2**61]
    True
    """
    return np.where(mine == kernel.MOST, mine, np.maximum(mine - theirs, 0))


def check_losses(kind: str, losses: NDArray[np.int64]) -> None:
    """StateError if these are no sums of what weights lose."""
    if ((losses < 0) | (losses > kernel.MOST)).any():
        raise StateError(f"{kind}: losses of {losses.tolist()}, expected 0 to {kernel.MOST}")
