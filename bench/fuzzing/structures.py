"""JSON values changed as values: what comes out can still be read, and means something else."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64 - 1, 10**30, 0.5,
    -0.0, 1e-9, 1e308, -1e308, 5e-324, "", "x", "s1", "5m", "-1s", "\u0000", "\u00e9" * 300,
    "n" * 600, "1970-01-01T00:00:00Z", [], [1, 2], ["a", "a"], [[[]]], {}, {"stream": "s1"},
    {"type": "total"}, {"size": 5}, {"a": {"b": []}},
)  # fmt: skip
_MOST = 3  # changes


def restructured(rng: Random, value: Any) -> Any:
    """A copy with one to three places changed: a value, a name, a member more or one fewer."""
    changed = copy.deepcopy(value)
    for _ in range(1 + int(_MOST * rng.random() ** 2)):
        places = list(_places(changed))
        if not places:
            break
        holder, place = places[int(rng.random() * len(places))]
        _change(rng, holder, place)
    return changed


def _places(value: Any) -> Any:
    """Every object or array in a value with each of its places."""
    if isinstance(value, dict | list):
        for place in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, place
            yield from _places(value[place])


def _change(rng: Random, holder: Any, place: Any) -> None:
    other = copy.deepcopy(VALUES[int(rng.random() * len(VALUES))])
    match int(rng.random() * 4):
        case 0 | 1:
            holder[place] = other
        case 2:
            del holder[place]
        case 3 if isinstance(holder, dict):
            holder[f"{place}x" if rng.random() < 0.5 else "id"] = other
        case _:
            holder[place] = [holder[place]]
