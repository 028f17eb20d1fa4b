"""Field names and their numbers, for one segment of rows; shared with the scanner."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sde.kernels import json_scan

_RESERVED = (b"dataset", b"dataSetkey", b"stream", b"streamID", b"time", b"values")


class FieldNames:
    """Names get numbers in the order of their appearance, after those of the envelope.

    The arrays belong to the scanner (`sde.kernels.json_scan`), which adds names to them. It stops a
    segment at `most` names, before a row, and one row has at most `most` names beside `values` and
    as many in it: the arrays have room for that. Should there be more, the scanner leaves the row.

    >>> list(FieldNames(10, 50, ["price"]).numbers())[-2:]
    ['values', 'price']
    """

    def __init__(self, most: int, longest: int, first: Iterable[str] = ()) -> None:
        """The names in `first`, at most `most`, get the smallest numbers."""
        room = 4 * most + 2 * len(_RESERVED)
        known = [*_RESERVED, *(name.encode() for name in first)]
        # What is longer in bytes than `longest` the scanner does not add, but it may be known.
        size = sum(len(name) + 1 for name in known) + room * (longest + 1) + 8
        self.bytes = np.empty(size, np.uint8)
        self.offsets = np.zeros(room + 1, np.int64)
        self.counts = np.zeros(1, np.int64)
        self.table = np.full(1 << (2 * room).bit_length(), -1, np.int64)
        self.follows = np.full(room + 1, -1, np.int64)
        self.seen = np.full(2 * room, -1, np.int64)
        for name in known:
            quoted = np.frombuffer(bytearray(name + b'"'), np.uint8)
            json_scan.name_number(
                quoted, 0, len(name), self.bytes, self.offsets, self.counts, self.table
            )

    def numbers(self) -> dict[str, int]:
        """The number of each name so far, in order."""
        offsets = self.offsets
        return {
            self.bytes[offsets[i] : offsets[i + 1] - 1].tobytes().decode(): i
            for i in range(int(self.counts[0]))
        }
