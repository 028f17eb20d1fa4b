"""What an engine tells itself and what sites tell each other, forged."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from bench.fuzzing.spoiling import Shares, Spoiler
from bench.poison.requests import TOKENS
from sde.federation.frames import MAGICS

_AT = 1_700_000_000_000
_QUESTION = {"op": "estimate", "id": "fz-again", "uid": "fz-count_min-1", "query": {"key": "1"}}
_ASKED = {"is": "asked", "type": "asked", "position": ["sde-requests", 0, 5], "time": _AT}
_MESSAGES: tuple[dict[str, Any], ...] = (
    {"op": "tick", "time": _AT, "caught_up": True},
    {"op": "progress", "dataset": "Forex", "clocks": {"|auto|3600000": {"0": [_AT, _AT]}}},
    {"op": "answered", "watch": "fz-1", "number": 5, "value": 1.5, "holds": True},
    {"op": "again", "asked": {**_ASKED, "request": _QUESTION}, "at": _AT},
    {"op": "due", "at": _AT},
    {"op": "admit", "request": {"op": "plugin", "name": "fuzzed", "source": "x = 1"}},
    {"op": "admitted", "request": "fz-1", "declaration": {"kind": "fuzzed"}, "fault": None},
    {"op": "failed", "kind": "fuzzed@1", "reason": "forged"},
)
_SHARES = Shares(restructured=0.4, rearranged=0.2, mutated=0.25)


class Union:
    """Makes messages for the union topic; some in the name of the engine's own `checkpoint`."""

    def __init__(self, seed: int | str, checkpoint: str) -> None:
        self._rng, self._checkpoint = Random(seed), checkpoint
        self._spoiler = Spoiler(self._rng, TOKENS, _SHARES)

    def messages(self, count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield self._message()

    def _message(self) -> bytes:
        rng = self._rng
        if rng.random() < 0.1:
            return rng.choice(sorted(MAGICS)) + rng.randbytes(int(rng.random() * 200))
        return self._spoiler.write({**rng.choice(_MESSAGES), "checkpoint": self._name()})

    def _name(self) -> str:
        return self._checkpoint if self._rng.random() < 0.5 else self._rng.choice(("-", "", "sde"))
