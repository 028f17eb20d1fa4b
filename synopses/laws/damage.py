"""Bytes that are not what `to_bytes` wrote."""

from __future__ import annotations

from typing import Any

import numpy as np

from synopses.base import Synopsis
from synopses.errors import MergeError, QueryError, StateError, SynopsisError
from synopses.laws.law import (
    answers,
    demand,
    example_items,
    filled,
    law,
)
from synopses.state import pack, unpack


@law()
def damaged_bytes_are_refused(cls: type[Synopsis], cases: int = 1_000) -> None:
    """Bytes with a flipped bit, cut, extended or foreign raise StateError, nothing else."""
    rng = np.random.default_rng(15)
    data = filled(cls, seed=15).to_bytes()
    spare = rng.bytes(64)
    for case in range(cases):
        at = int(rng.integers(len(data)))
        if case % 4 == 0:
            bad = data[:at]
        elif case % 4 == 1:
            bad = data + spare[: 1 + at % 64]
        else:
            flipped = bytes([data[at] ^ (1 << int(rng.integers(8)))])
            bad = data[:at] + flipped + data[at + 1 :]
        try:
            cls.from_bytes(bad)
        except StateError:
            continue
        demand(False, f"damage at byte {at} was not noticed")


@law()
def forged_payloads_do_no_harm(cls: type[Synopsis], cases: int = 100) -> None:
    """A payload changed under a fresh checksum is refused, or gives a synopsis that still works.

    It takes items, merges with others and with itself, and its bytes can be read again then.
    """
    rng = np.random.default_rng(16)
    state = unpack(filled(cls, seed=16).to_bytes())
    more, partner = example_items(cls, seed=17, n=50), filled(cls, seed=18, n=50)
    for case in range(cases):
        payload = _forge(bytes(state.payload), rng, case)
        data = pack(state.kind, state.format, state.params, payload)
        try:
            forged = cls.from_bytes(data)
        except SynopsisError:
            continue
        try:
            for _ in answers(forged):
                pass
            forged.add(more)
            if cls.mergeable:
                forged.merge(partner)
                forged.merge(cls.from_bytes(forged.to_bytes()))
            for _ in answers(forged):
                pass
        except (MergeError, QueryError):
            pass
        cls.from_bytes(forged.to_bytes())


@law()
def forged_parameters_are_refused(cls: type[Synopsis]) -> None:
    """Parameters of the wrong type, size or name raise StateError, and take no memory."""
    state = unpack(filled(cls, seed=19, n=50).to_bytes())
    nonsense: tuple[Any, ...] = (None, "x", [1], {}, -(10**30), 10**400, 1e308, float("nan"), "")
    forgeries: list[dict[str, Any]] = [{"self": 1}, {"no such parameter": 1}]
    forgeries += [{name: value} for name in cls.parameters for value in nonsense]
    for forgery in forgeries:
        params = {**state.params, **forgery}
        data = pack(state.kind, state.format, params, bytes(state.payload))
        try:
            loaded = cls.from_bytes(data)
        except StateError:
            continue
        # A text parameter may take any text; it must then come back as it went in.
        demand(loaded.params == params, f"{forgery} was taken as something else")


def _forge(payload: bytes, rng: np.random.Generator, case: int) -> bytes:
    """Another payload: bytes changed, words made extreme, cut, lengthened, or all made up."""
    forged = bytearray(payload)
    word = int(rng.integers(max(1, len(forged) // 8))) * 8
    if case % 5 == 0:
        forged = forged[: int(rng.integers(len(forged) + 1))]
    elif case % 5 == 1:
        forged += rng.bytes(int(rng.integers(1, 64)))
    elif case % 5 == 2:
        extremes = (b"\xff" * 8, b"\x7f" * 8, b"\x00" * 8, b"\xff" * 7 + b"\x7f", b"\x80" * 8)
        forged[word : word + 8] = extremes[int(rng.integers(len(extremes)))]
    elif case % 5 == 3:
        for at in rng.integers(max(1, len(forged)), size=8):
            forged[at : at + 1] = rng.bytes(1)
    else:
        forged[word:] = rng.bytes(len(forged) - word)
    return bytes(forged)
