"""The values of many tuples: one entry each, see `sde.kernels.json_values` for its parts."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.kernels.json_numbers import DECIMAL, INTEGER, TEXT

_WORD, _FLOAT = struct.Struct("<q"), struct.Struct("<d")


class Entries:
    """Entry i is the value of field number fields[i], of types[i], in words[i].

    `floats` is `words`, read as float64.
    """

    def __init__(self, room: int) -> None:
        self.fields: NDArray[np.int32] = np.empty(room, np.int32)
        self.types: NDArray[np.uint8] = np.empty(room, np.uint8)
        self.words: NDArray[np.int64] = np.empty((room, 2), np.int64)
        self.floats: NDArray[np.float64] = self.words.view(np.float64)

    def __len__(self) -> int:
        return len(self.fields)

    def grow(self, used: int, room: int) -> None:
        """Keep the first `used` entries, in arrays of `room`."""
        larger = Entries(room)
        for old, new in ((self.fields, larger.fields), (self.types, larger.types)):
            new[:used] = old[:used]
        larger.words[:used] = self.words[:used]
        self.fields, self.types = larger.fields, larger.types
        self.words, self.floats = larger.words, larger.floats

    def repeat(self, chosen: NDArray[np.int64], used: int) -> None:
        """Write the chosen entries to entries[used:]."""
        end = used + len(chosen)
        if end > len(self):
            self.grow(used, end)
        self.fields[used:end] = self.fields[chosen]
        self.types[used:end] = self.types[chosen]
        self.words[used:end] = self.words[chosen]


@dataclass(frozen=True, slots=True)
class RowValues:
    """Those of row i are the entries row_entries[i, 0] to row_entries[i, 1], of which `used` are
    filled, also those of rows that are not here; names[f] is the name of field number f."""

    row_entries: NDArray[np.int64]
    entries: Entries
    used: int
    names: list[str]


class PlainEntries:
    """Entries made from Python values, to be put behind the scanned ones."""

    def __init__(self, text_start: int) -> None:
        self._rows: list[tuple[int, int, int, int]] = []
        self._text = bytearray()
        self._text_start = text_start

    def __len__(self) -> int:
        return len(self._rows)

    def text_span(self, text: str) -> tuple[int, int]:
        """Where the text will stand in the pool."""
        start = self._text_start + len(self._text)
        self._text += text.encode()
        return start, self._text_start + len(self._text)

    def add(self, field: int, value: Any) -> None:
        """A value of a tuple, which is a text, a number or a truth value."""
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, int):
            if -(2**63) <= value < 2**63:
                self._rows.append((field, INTEGER, value, 0))
                return
            value = str(value)
        elif isinstance(value, float):
            self._rows.append((field, DECIMAL, _WORD.unpack(_FLOAT.pack(value))[0], 0))
            return
        self._rows.append((field, TEXT, *self.text_span(value)))

    def text(self) -> NDArray[np.uint8]:
        """All texts so far, to be appended to the pool where they are expected."""
        return np.frombuffer(self._text, np.uint8)

    def put(self, entries: Entries, used: int) -> None:
        """Write them to entries[used:]."""
        end = used + len(self)
        if end > len(entries):
            entries.grow(used, end)
        if self._rows:
            rows = np.array(self._rows, np.int64)
            entries.fields[used:end] = rows[:, 0]
            entries.types[used:end] = rows[:, 1]
            entries.words[used:end] = rows[:, 2:]
