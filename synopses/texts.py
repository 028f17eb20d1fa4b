"""A column of texts as one UTF-8 buffer and offsets: what kernels and Arrow both understand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synopses.kernels import texts as kernel


@dataclass(frozen=True, slots=True)
class Texts:
    """Text i is `buffer[offsets[i]:offsets[i + 1]]`."""

    buffer: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """
        >>> list(Texts.of(["a", "", "bc"]))
        ['a', '', 'bc']
        """
        encoded = [text.encode() for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(e) for e in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @classmethod
    def concatenated(cls, parts: Sequence[Texts]) -> Texts:
        """
        >>> list(Texts.concatenated([Texts.of(["a", "b"]), Texts.of(["c"])]))
        ['a', 'b', 'c']
        """
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        offsets = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        held = [part.buffer[part.offsets[0] : part.offsets[-1]] for part in parts]
        return cls(np.concatenate(held), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> str:
        return self.buffer[self.offsets[index] : self.offsets[index + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def take(self, indices: NDArray[np.int64]) -> Texts:
        """The texts at `indices`, in that order."""
        offsets = np.zeros(len(indices) + 1, np.int64)
        np.cumsum((self.offsets[1:] - self.offsets[:-1])[indices], out=offsets[1:])
        buffer = np.empty(offsets[-1], np.uint8)
        kernel.gather(self.buffer, self.offsets, indices, buffer, offsets)
        return Texts(buffer, offsets)
