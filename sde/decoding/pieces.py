"""One piece of bytes for each message, or none: its key, its headers, the value of one header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sde.tuples.column import Column
from sde.tuples.spans import gather
from synopses.texts import Texts


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Piece i is buffer[starts[i]:ends[i]]; where there is none, start and end are -1.

    >>> pieces = Pieces.of([b"ann", None, b""])
    >>> list(pieces), list(pieces.part(1, 3))
    ([b'ann', None, b''], [None, b''])
    """

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, pieces: Sequence[bytes | None]) -> Pieces:
        sizes = np.array([-1 if piece is None else len(piece) for piece in pieces], np.int64)
        ends = np.cumsum(np.maximum(sizes, 0))
        starts = ends - sizes
        starts[sizes < 0] = ends[sizes < 0] = -1
        buffer = np.frombuffer(bytearray().join(piece or b"" for piece in pieces), np.uint8)
        return cls(buffer, starts, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> bytes | None:
        start = self.starts[index]  # an IndexError ends an iteration
        return None if start < 0 else self.buffer[start : self.ends[index]].tobytes()

    def part(self, first: int, stop: int) -> Pieces:
        return Pieces(self.buffer, self.starts[first:stop], self.ends[first:stop])

    def texts(self) -> Column:
        """The pieces as texts; one that is not UTF-8 is missing, as is one that is not there.

        >>> column = Pieces.of([b"ann", None, bytes([0xFF])]).texts()
        >>> column.texts()[0], column.valid.tolist()
        ('ann', [True, False, False])
        """
        texts = gather(self.buffer, self.starts, self.ends)
        valid = self.starts >= 0
        if not _are_utf8(texts):
            valid &= np.array([_is_utf8(self[i]) for i in range(len(self))], np.bool_)
            ends = np.where(valid, self.ends, self.starts)
            texts = gather(self.buffer, self.starts, ends)
        return Column(texts, None if valid.all() else valid)


def _are_utf8(texts: Texts) -> bool:
    buffers = [None, pa.py_buffer(texts.offsets), pa.py_buffer(texts.buffer)]
    try:
        pa.Array.from_buffers(pa.large_string(), len(texts), buffers).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_utf8(piece: bytes | None) -> bool:
    try:
        (piece or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
