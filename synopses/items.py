"""A batch of items as columns: what is added to a synopsis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from synopses.hashing import hash_numbers, hash_texts, key_text, number_texts
from synopses.texts import Texts


@dataclass(frozen=True, slots=True)
class Sums:
    """What the weights of all items with one key come to; made by `synopses.fixed_point`.

    decimals  a unit is 10^-decimals
    units     int64 (n,): their sums in whole units
    sizes     int64 (n,): the sums of their absolute values
    losses    int64 (n, 3): what rounding them lost; no rows where it lost nothing
    """

    decimals: int
    units: NDArray[np.int64]
    sizes: NDArray[np.int64]
    losses: NDArray[np.int64]

    def take(self, indices: NDArray[np.int64]) -> Sums:
        """The sums at `indices`, in that order."""
        losses = self.losses.take(indices, axis=0) if len(self.losses) else self.losses
        return Sums(self.decimals, self.units.take(indices), self.sizes.take(indices), losses)


@dataclass(frozen=True, slots=True)
class Items:
    """n items. A kind names the columns it reads in `reads`; any other may be empty.

    keys     uint64 (n, 2): hashes of the keys, see `synopses.hashing`
    texts    the keys themselves, for kinds that give keys back
    values   float64 (n,), or (n, d) where an item has several values
    times    int64 (n,): milliseconds since the epoch
    ids      uint64 (n,): identity of the record, the same whenever it is read again
    sums     in place of values, where each item stands for all those of its key
    """

    keys: NDArray[np.uint64]
    texts: Texts
    values: NDArray[np.float64]
    times: NDArray[np.int64]
    ids: NDArray[np.uint64]
    size: int
    sums: Sums | None = None

    @classmethod
    def of(
        cls,
        keys: Sequence[Any] | NDArray[Any] | None = None,
        values: ArrayLike | None = None,
        times: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> Items:
        """Items from plain Python or numpy columns.

        Without keys every key is "", without values every value is 1, without times every time
        is 0, and without ids an item is known by its place in this batch.

        >>> items = Items.of(["a", "b", "a"], values=[1, 2, 3])
        >>> len(items), items.texts[1], items.values.tolist()
        (3, 'b', [1.0, 2.0, 3.0])
        """
        column = next(c for c in (keys, values, times, ids) if c is not None)
        n = len(column)  # type: ignore[arg-type]
        texts = _texts_of([""] * n if keys is None else keys)
        return cls(
            keys=hash_texts(texts),
            texts=texts,
            values=np.ones(n) if values is None else np.ascontiguousarray(values, np.float64),
            times=np.zeros(n, np.int64) if times is None else np.asarray(times, np.int64),
            ids=hash_numbers(np.arange(n))[:, 0].copy()
            if ids is None
            else np.asarray(ids, np.uint64),
            size=n,
        )

    def __len__(self) -> int:
        return self.size

    def take(self, indices: NDArray[np.int64]) -> Items:
        """The items at `indices`, in that order."""

        def column(array: NDArray[Any]) -> NDArray[Any]:
            return np.take(array, indices, axis=0) if len(array) else array

        return Items(
            column(self.keys),
            self.texts.take(indices) if len(self.texts) else self.texts,
            column(self.values),
            column(self.times),
            column(self.ids),
            len(indices),
            None if self.sums is None else self.sums.take(indices),
        )

    def finite(self) -> NDArray[np.bool_]:
        """Which items have only finite values."""
        finite = np.isfinite(self.values)
        return np.asarray(finite if finite.ndim == 1 else finite.all(axis=1))


def _texts_of(keys: Sequence[Any] | NDArray[Any]) -> Texts:
    array = np.asarray(keys) if not isinstance(keys, np.ndarray) else keys
    if array.dtype.kind == "i" or (array.dtype.kind == "u" and array.dtype.itemsize < 8):
        return number_texts(array.astype(np.int64))
    if array.dtype.kind == "f":
        return number_texts(array.astype(np.float64))
    return Texts.of([key_text(key) for key in keys])
