"""States of every kind, mutated: in most the checksum is right again, so that they are read on."""

from __future__ import annotations

import struct
import zlib
from random import Random

import numpy as np

from bench.fuzzing.mutations import mutated
from synopses import KINDS, Synopsis

_CHECKSUM = struct.Struct("<I")
_HEADER = struct.Struct("<4sHBIQ")  # of `synopses.state`: magic, format, lengths of the three parts
_REPAIRED = 0.7
TOKENS = (
    b"\xff" * 8, b"\x7f" * 8, b"\x00" * 8, b"\xff" * 7 + b"\x7f", b"\x80" * 8, b"\x00" * 4,
    b"\xff" * 4, b"\x01\x00\x00\x00", b"\x00\x00\xf0\x7f", b"\x00\x00\xf8\xff",
    b"\xf0\x3f", b"SYNO", b'"seed":1', b"1e9", b"-1", b"null",
)  # fmt: skip


class States:
    """Makes states, with the class that each of them is meant for."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)
        self._valid: list[tuple[type[Synopsis], bytes]] = []
        for number, cls in enumerate(KINDS.values()):
            for items in (0, 3, 200, 2_000):
                synopsis = cls.example()
                if items:
                    rng = np.random.default_rng([seed, number, items])
                    synopsis.add(cls.example_items(rng, items))
                self._valid.append((cls, synopsis.to_bytes()))

    def draw(self) -> tuple[type[Synopsis], bytes]:
        rng = self._rng
        cls, state = self._valid[int(rng.random() * len(self._valid))]
        if rng.random() < 0.05:
            return cls, state
        others = [other for of, other in self._valid if of is cls]
        overwrite = rng.random() < 0.5
        changed = _overwritten(rng, state) if overwrite else mutated(rng, state, others, TOKENS)
        return cls, repaired(changed) if rng.random() < _REPAIRED else changed


def _overwritten(rng: Random, state: bytes) -> bytes:
    """Other bytes in the payload, as many as before: what has a fixed size is read on."""
    changed = bytearray(state)
    kind, params = _HEADER.unpack_from(state)[2:4]
    start, end = _HEADER.size + kind + params, len(state) - _CHECKSUM.size
    for _ in range(1 + int(4 * rng.random())):
        at = start + int(rng.random() * max(1, end - start))
        token = TOKENS[int(rng.random() * len(TOKENS))] if rng.random() < 0.6 else rng.randbytes(1)
        changed[at : at + len(token)] = token
    return bytes(changed[: len(state)])


def repaired(state: bytes) -> bytes:
    """The same bytes with lengths and checksum that fit them, if they can be had."""
    if len(state) < _HEADER.size + _CHECKSUM.size:
        return state
    magic, version, kind, params, _ = _HEADER.unpack_from(state)
    body = state[: -_CHECKSUM.size]
    payload = len(body) - _HEADER.size - kind - params
    if payload < 0:
        return state
    body = _HEADER.pack(magic, version, kind, params, payload) + body[_HEADER.size :]
    return body + _CHECKSUM.pack(zlib.crc32(body))
