"""How far a site's part may move in silence so that the federated value moves by at most θ.

Sums and counts: the value is the sum of the sites' values, so that of n sites each may be off by
θ/n. F2: the value is |X|² for the sum X of the sites' vectors. With E the sum of what the sites
sent last, d what they have not told, |E| <= N and |d| <= R:

    | |E + d|² - |E|² |  <=  2 N R + R²  =  θ      for R = sqrt(N² + θ) - N

and |d| <= R holds if the part of each of the n sites moved by at most R/n: the safe zone of
functional geometric monitoring for this function is a ball around what was sent [1]_. The answer
of a sketch is the median over its rows, which moves no further than the row that moves furthest;
so norms are the largest over the rows.

|E| changes when sites send. The site that asks tells the others a bound N of it, with some slack,
and another when |E| comes near. While that one is on its way, a site may still measure by the
bound before, N' >= S N. So sites keep within S θ: from 2 S N R + R² = S θ follows 2 N R + R² <= θ.

.. [1] Samoladas and Garofalakis, Functional geometric monitoring for distributed streams, EDBT
   2019.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sde.wire import Code, Refusal
from synopses import AMS, BankedSynopsis, Synopsis

_ADDITIVE = {
    ("count_min", "total"),
    ("count_min_conservative", "total"),
    ("moments", "count"),
    ("moments", "sum"),
}
_F2 = ("ams", "f2")
_SLACK, _NEAR = 1.25, 0.9  # the bound, as a multiple of the norm; the norm is near it from here on
_SHARE = _NEAR / _SLACK  # S above


def question_of(kind: type[Synopsis], query: Mapping[str, Any]) -> tuple[str, str]:
    return kind.kind, query.get("type", next(iter(kind.questions)))


def check_drift(kind: type[Synopsis], query: Mapping[str, Any]) -> None:
    """Refusal if nobody knows how far a site's part may move."""
    if question_of(kind, query) not in {*_ADDITIVE, _F2}:
        known = ", ".join(f"{question} of {kind}" for kind, question in sorted({*_ADDITIVE, _F2}))
        raise Refusal(
            Code.BAD_REQUEST, f"drift: expected a question it is known for: {known}", "drift"
        )


def needs_norm(kind: type[Synopsis], query: Mapping[str, Any]) -> bool:
    return question_of(kind, query) == _F2


def radius(drift: float, norm: float) -> float:
    """R above.

    >>> radius(36.0, 8.0)
    2.0
    """
    return drift / (math.sqrt(norm**2 + drift) + norm)


def next_bound(drift: float, norm: float, bound: float | None) -> float | None:
    """The bound of the norm that sites are to be told now; None while the last one will do.

    When sites break their silence the norm grows by up to R at once: there must be room for it.
    """
    grown = norm + radius(_SHARE * drift, norm)
    if bound is not None and bound / (2 * _SLACK) <= grown <= _NEAR * bound:
        return None
    return _SLACK * grown


def stated(drift: float, norm: float, bound: float) -> float:
    """By how much the value may be off: `drift`, unless the norm has outgrown its bound."""
    furthest = radius(_SHARE * drift, _SHARE * bound)
    return max(drift, 2 * norm * furthest + furthest**2)


def norm_of(synopsis: Synopsis) -> float:
    """The largest Euclidean norm of a row, in the units of the answer."""
    assert isinstance(synopsis, AMS)
    table = synopsis.arrays["table"][0] * 10.0**-synopsis.decimals
    return float(np.sqrt((table**2).sum(axis=1)).max())


def has_moved(
    query: Mapping[str, Any],
    now: Synopsis,
    sent: Synopsis,
    drift: float,
    sites: int,
    norm: float | None,
) -> bool:
    """Whether a site has to say how its part changed; `sites` share what may stay untold."""
    if not needs_norm(type(now), query):
        values = (now.estimate(query).value or 0, sent.estimate(query).value or 0)
        return bool(abs(values[0] - values[1]) > drift / sites)
    if norm is None:
        return True
    return norm_of(difference(now, sent)) > radius(_SHARE * drift, norm) / sites


def difference(now: Synopsis, before: Synopsis) -> Synopsis:
    """What was added since, of a linear kind: again a state of that kind."""
    changed = now.copy()
    assert isinstance(changed, BankedSynopsis)
    assert isinstance(before, BankedSynopsis)
    changed.subtract_slots(changed.arrays, np.zeros(1, np.int32), before.arrays)
    return changed
