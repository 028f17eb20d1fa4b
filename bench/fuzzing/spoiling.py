"""Messages written down, a share of them spoilt on the way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from bench.fuzzing.mutations import mutated, rearranged
from bench.fuzzing.structures import restructured

_REMEMBERED = 20


class Shares(NamedTuple):
    """Of all messages; the rest are written as they are."""

    restructured: float
    rearranged: float
    mutated: float


class Spoiler:
    """Remembers what it wrote last: a mutation may end with a part of another message."""

    def __init__(self, rng: Random, tokens: Sequence[bytes], shares: Shares) -> None:
        self._rng, self._tokens, self._shares = rng, tokens, shares
        self._recent: list[bytes] = [b"{}"]

    def write(self, message: Any) -> bytes:
        rng, shares = self._rng, self._shares
        if (chance := rng.random()) < shares.restructured:
            message = restructured(rng, message)
        written = json.dumps(message).encode()
        self._recent = [*self._recent[-_REMEMBERED:], written]
        if chance > 1 - shares.mutated:
            return mutated(rng, written, self._recent, self._tokens)
        if chance > 1 - shares.mutated - shares.rearranged:
            return rearranged(rng, written, self._tokens)
        return written
