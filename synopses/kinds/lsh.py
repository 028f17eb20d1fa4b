"""LSH: which streams look alike?"""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from synopses import hamming
from synopses.base import Arrays, Layout
from synopses.common_window import CONSTANT, MOVING, CommonWindow, is_cut
from synopses.correlated_pairs import (
    MOST_PAIRS,
    PAIR_COLUMNS,
    check_limit,
    completeness,
    find_stream,
)
from synopses.errors import ParameterError, QueryError
from synopses.items import Items
from synopses.kernels import lsh as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate, question
from synopses.streams import Streams
from synopses.window_transform import SPARE_PANES, Transform

_MOST_SIMILAR = 10_000


class LSH(CommonWindow):
    """Bitmap of a stream's sliding window by random hyperplanes: similar windows, similar bits.

    A pair whose correlation over the window reaches the threshold is found with at least the
    probability asked for as `recall`, unless more than `limit` are found and the answer says
    `complete: false`; a correlation lies within its bounds with confidence 0.95, over the choice
    of the seed [1]_ [2]_.

    Bit r tells on which side of the r-th random hyperplane the window lies, taken from its mean:
    two windows differ in a bit with probability angle / pi. Ticks, late items and windows are
    as in `DFT`, and so is a stream that did not move: it is similar to none.

    Examples
    --------
    >>> import numpy as np
    >>> from synopses import LSH, Items, Streams
    >>> lsh = LSH(interval=1, window=60, basic_window=10)
    >>> ticks = np.arange(80)
    >>> bank = {n: np.zeros((3, *shape), t) for n, (t, shape) in lsh.layout().items()}
    >>> for slot, values in enumerate([ticks % 17, 5 + 2 * (ticks % 17), ticks % 23]):
    ...     items = Items.of(values=values, times=1000 * ticks)
    ...     lsh.add_slots(bank, np.full(80, slot, np.int32), items)
    >>> streams = Streams(["A", "B", "C"], bank)
    >>> [(name, value) for name, value, lower, upper in lsh.similar(streams, "A", k=1).value]
    [('B', 1.0)]

    References
    ----------
    .. [1] Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002.
    .. [2] Giatrakos et al., TACO: tunable approximate computation of outliers in wireless sensor
       networks, SIGMOD 2010.
    """

    kind = "lsh"
    guarantee = (
        "a pair at or beyond the threshold is found with probability of at least `recall`, unless "
        "more than `limit` were found and the answer says `complete: false`"
    )
    across_arrays: ClassVar[tuple[str, ...]] = ("pane", "start", "counts", "signature", "varies")

    bits: int = parameter(256, least=64, most=4096, doc="bits of the bitmap, a multiple of 64")
    seed: int = parameter(9001, least=0, most=2**32, doc="only equal seeds can be compared")

    def _prepare(self) -> None:
        if self.bits % 64:
            raise ParameterError("bits", self.bits, "a multiple of 64")
        super()._prepare()

    @classmethod
    def from_error(cls, error: float, **params: Any) -> Self:
        """With so many bits that the angle has at most this standard deviation (radians)."""
        if not 0 < error < 1:
            raise ParameterError("error", error, "a number above 0 and below 1")
        words = math.ceil((math.pi / (2 * error)) ** 2 / 64)
        return cls(bits=64 * words, **params)

    @property
    def rows(self) -> int:
        return self.bits

    @property
    def transform(self) -> Transform:
        return _gaussian(self.window_ticks, self.panes, self.bits, self.seed)

    def layout(self) -> Layout:
        # One bitmap for each window that streams which are ahead or behind can be asked for.
        entries = self.panes + SPARE_PANES
        return super().layout() | {
            "signature": (np.uint64, (entries, self.bits // 64)),
            "varies": (np.uint8, (entries,)),
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        touched = self._fold_in(arrays, slots, items)
        kernel.sign(
            *(arrays["pane"], arrays["last"], arrays["mean"], arrays["energy"]),
            *(arrays["product"], arrays["signature"], arrays["varies"]),
            *(self.transform.shares, touched, self.pane_ticks),
        )

    # -- questions ----------------------------------------------------------------------------

    @question
    def signature(self) -> Estimate:
        """The bitmap of the window, as hexadecimal digits, first bit first."""
        bitmaps, streams, details = self._bitmaps(self.arrays, int(self.arrays["pane"][0]) - 1)
        if len(streams) == 0:
            return Estimate(None, details=details)
        ordered = np.unpackbits(bitmaps[0].view(np.uint8), bitorder="little")
        details["ones"] = int(ordered.sum())
        return Estimate(np.packbits(ordered).tobytes().hex(), confidence=1.0, details=details)

    @question(across=True, most={"k": _MOST_SIMILAR}, columns=("stream", *PAIR_COLUMNS[2:]))
    def similar(self, streams: Streams, stream: str, k: int = 10) -> Estimate:
        """The k streams most similar to one, each as [name, correlation, lower, upper]."""
        if not 1 <= k <= _MOST_SIMILAR:
            raise QueryError("query.k", k, f"from 1 to {_MOST_SIMILAR}")
        here = find_stream(streams, "stream", stream)
        bitmaps, present, details = self._bitmaps(streams.arrays, self.common_end(streams.arrays))
        if here not in present:
            return Estimate(None, details=details)
        distance = hamming.distances(bitmaps, bitmaps[np.searchsorted(present, here)])
        nearest = np.argsort(distance, kind="stable")
        nearest = nearest[present[nearest] != here][:k]
        known = hamming.correlation_of(self.bits)[distance[nearest]].tolist()
        rows = [[streams.names[i], *c] for i, c in zip(present[nearest], known, strict=True)]
        return Estimate(rows, confidence=hamming.CONFIDENCE, details=details)

    @question(across=True, most={"limit": MOST_PAIRS}, columns=PAIR_COLUMNS)
    def pairs(
        self,
        streams: Streams,
        threshold: float = 0.9,
        recall: float = 0.95,
        negative: bool = True,
        limit: int = 10_000,
    ) -> Estimate:
        """Pairs of streams with a correlation of at least the threshold, or at most minus it.

        Each is [a, b, correlation, lower, upper], strongest first. `details.found` counts them
        all, beyond the limit too, and where it is larger than the limit, `details.complete` is
        false. The higher the recall asked for, the more pairs are below the
        threshold in truth.
        """
        if not 0 < threshold <= 1:
            raise QueryError("query.threshold", threshold, "above 0 and at most 1")
        if not 0 < recall < 1:
            raise QueryError("query.recall", recall, "above 0 and below 1")
        check_limit(limit)
        bitmaps, present, details = self._bitmaps(streams.arrays, self.common_end(streams.arrays))
        most = hamming.most_differing(self.bits, threshold, recall)
        found, counts = hamming.search(bitmaps, most, negative, limit, threshold)
        known = hamming.correlation_of(self.bits)[found[:, 2]].tolist()
        names = np.asarray(streams.names, object)[present]
        ends = zip(names[found[:, 0]].tolist(), names[found[:, 1]].tolist(), known, strict=True)
        rows = [[a, b, *c] for a, b, c in ends]
        details |= {**counts, "recall": recall, "differing_bits": most}
        details |= completeness(counts["found"], limit)
        return Estimate(rows, confidence=hamming.CONFIDENCE, details=details)

    @question(across=True)
    def correlation(self, streams: Streams, a: str, b: str) -> Estimate:
        """Correlation of two named streams."""
        chosen = [find_stream(streams, "a", a), find_stream(streams, "b", b)]
        end = self.common_end(streams.arrays)
        arrays = {name: array[chosen] for name, array in streams.arrays.items()}
        bitmaps, present, details = self._bitmaps(arrays, end)
        if len(present) < 2:
            return Estimate(None, details=details)
        distance = hamming.distances(bitmaps[:1], bitmaps[1])[0]
        value, lower, upper = hamming.correlation_of(self.bits)[distance].tolist()
        return Estimate(value, lower, upper, hamming.CONFIDENCE, details)

    def _bitmaps(
        self, arrays: Arrays, end: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64], dict[str, Any]]:
        """Bitmaps of the window that ends with pane `end`, of the streams that move in it."""
        cut = arrays if is_cut(arrays) else self.cut(arrays, end)
        moving = np.flatnonzero(cut["state"] == MOVING)
        return cut["bitmap"][moving], moving, self.details(cut["state"], end)

    def cut(self, arrays: Arrays, end: int) -> Arrays:
        state = self.states_at(arrays, end)
        entry = end - (arrays["pane"] - 2)
        last = arrays["varies"].shape[1] - 1
        # A stream silent for longer than a window repeats one value: it does not move.
        constant = np.flatnonzero((state == CONSTANT) & (entry >= 0) & (entry <= last))
        moving = constant[arrays["varies"][constant, entry[constant]] > 0]
        state[moving] = MOVING
        bitmap = np.zeros((len(state), self.bits // 64), np.uint64)
        bitmap[moving] = arrays["signature"][moving, entry[moving]]
        ends = np.full(len(state), end)
        return {"pane": arrays["pane"], "end": ends, "state": state, "bitmap": bitmap}

    @classmethod
    def example(cls) -> Self:
        return cls(interval=1, window=40, basic_window=10, bits=64)

    @classmethod
    def example_query(cls, question: str) -> dict[str, Any]:
        needed = {"correlation": {"a": "a", "b": "b"}, "similar": {"stream": "b"}}
        return {"type": question, **needed.get(question, {})}


@functools.lru_cache(maxsize=8)
def _gaussian(ticks: int, panes: int, bits: int, seed: int) -> Transform:
    """Normal rows by Box and Muller from Philox words: the same on every machine."""
    pairs = (ticks * bits + 1) // 2
    words = np.random.Philox(key=seed).random_raw(2 * pairs).reshape(2, pairs)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    radius, angle = np.sqrt(-2 * np.log(uniform[0])), 2 * np.pi * uniform[1]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    return Transform.of(normal[: ticks * bits].reshape(ticks, bits), panes)
