"""The keys with the largest single values: the exact half of `top_k`."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.errors import StateError
from synopses.items import Items
from synopses.kernels import top_k as kernel
from synopses.parameters import parameter
from synopses.text_cells import cell_text, cells_fit_keys


class BestValues(BankedSynopsis):
    """The k keys with the highest scores, where a key's score is the highest of its values.

    A key that was dropped had k others above it, and those only rise; if it comes back above
    them, that value is its highest. So k entries suffice for the exact answer.
    """

    kind = "top_k"
    reads = frozenset({"keys", "texts", "values"})

    k: int = parameter(10, least=1, most=1000, doc="number of keys")
    smallest: bool = parameter(False, doc="keep the smallest values instead of the largest")
    max_key_bytes: int = parameter(
        48, least=1, most=1000, unit="bytes", doc="longer keys are cut when shown"
    )

    @property
    def _sign(self) -> float:
        """A score is a value, or its negative where small values are good."""
        return -1.0 if self.smallest else 1.0

    def layout(self) -> Layout:
        return {
            "keys": (np.uint64, (self.k, 2)),
            "scores": (np.float64, (self.k,)),
            "lengths": (np.int64, (self.k,)),
            "texts": (np.uint8, (self.k, self.max_key_bytes)),
            "held": (np.int64, ()),
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        offsets = items.texts.offsets
        self._keep(
            arrays,
            slots,
            items.keys,
            items.texts.buffer,
            offsets[:-1],
            np.diff(offsets),
            self._sign * items.values,
        )

    def _merge(self, other: Self) -> None:
        held = int(other.arrays["held"][0])
        theirs = {name: array[0] for name, array in other.arrays.items()}
        self._keep(
            self.arrays,
            np.zeros(held, np.int32),
            theirs["keys"][:held],
            theirs["texts"].reshape(-1),
            np.arange(held) * self.max_key_bytes,
            theirs["lengths"][:held],
            theirs["scores"][:held],
        )

    def _keep(
        self,
        arrays: Arrays,
        slots: NDArray[np.int32],
        keys: NDArray[np.uint64],
        buffer: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        scores: NDArray[np.float64],
    ) -> None:
        kernel.add(
            arrays["keys"],
            arrays["scores"],
            arrays["lengths"],
            arrays["texts"],
            arrays["held"],
            slots,
            keys,
            buffer,
            starts,
            lengths,
            scores,
        )

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        state = {name: array[0] for name, array in self.arrays.items()}
        held = int(state["held"])
        if not 0 <= held <= self.k:
            raise StateError(f"top_k: {held} entries, expected at most {self.k}")
        keys, scores = state["keys"][:held], state["scores"][:held]
        order = np.lexsort((keys[:, 1], keys[:, 0], -scores))
        if not np.isfinite(scores).all() or (order != np.arange(held)).any():
            raise StateError("top_k: the entries are not in order")
        if len(np.unique(keys, axis=0)) < held:
            raise StateError("top_k: a key has two entries")
        if any(state[name][held:].any() for name in ("keys", "scores", "lengths", "texts")):
            raise StateError("top_k: there is something behind the last entry")
        if not cells_fit_keys(state["texts"][:held], state["lengths"][:held], keys):
            raise StateError("top_k: a text does not have the hash of its key")

    def best(self) -> list[tuple[str, float]]:
        """Keys and values, the best first."""
        return [
            (cell_text(text, int(length)), float(self._sign * score) + 0.0)
            for text, length, score in zip(
                self.arrays["texts"][0],
                self.arrays["lengths"][0],
                self.arrays["scores"][0, : int(self.arrays["held"][0])],
                strict=False,
            )
        ]
