"""Chain sample: k records that stand for the last n."""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.errors import MergeError, ParameterError, StateError
from synopses.items import Items
from synopses.kernels import chain_sample as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate, question
from synopses.sampled_records import records_are_sound, shown, value_columns, words


class ChainSample(BankedSynopsis):
    """A uniform sample without replacement of the last `window` items.

    Every set of `k` of the last `window` items is equally likely to be the sample. Babcock et al.
    [1]_ chain successors of each sampled item; here every item gets a random priority, the sample
    is the k highest in the window, and kept are the items that can still become that: on average
    k (1 + ln(window / k)). Not mergeable: the parts do not tell which items are the last of the
    whole. For the last minutes of many streams together use `sample` in a sliding window.

    Examples
    --------
    >>> import numpy as np
    >>> from synopses import ChainSample, Items
    >>> sample = ChainSample(k=2, window=10)
    >>> sample.add(Items.of(values=np.arange(1000)))
    >>> [record["value"] >= 990 for record in sample.sample().value]
    [True, True]

    References
    ----------
    .. [1] Babcock, Datar and Motwani, Sampling from a moving window over streaming data,
       SODA 2002.
    """

    kind = "chain_sample"
    mergeable = False
    reads = frozenset({"keys", "texts", "values", "times"})
    value_fields: ClassVar[int | str] = "fields"
    guarantee = "every set of k of the last `window` items is equally likely"

    k: int = parameter(100, least=1, most=10_000, doc="number of records")
    window: int = parameter(
        10_000, least=1, most=10**8, unit="items", doc="how many of the last items to sample from"
    )
    fields: int = parameter(1, least=1, most=64, doc="value fields kept of a record", added=True)
    max_key_bytes: int = parameter(
        48, least=1, most=1000, unit="bytes", doc="longer keys are cut when shown"
    )
    seed: int = parameter(0, least=0, most=2**32, doc="other seeds give independent samples")

    def _prepare(self) -> None:
        super()._prepare()
        if self.k > self.window:
            raise ParameterError("k", self.k, f"at most window={self.window}")

    @property
    def capacity(self) -> int:
        """Twice the records kept on average, and six standard deviations on top."""
        average = self.k * (1 + math.log(self.window / self.k))
        return min(math.ceil(2 * average + 6 * math.sqrt(average)) + 16, 2 * self.window)

    def layout(self) -> Layout:
        return {
            "records": (np.uint64, (self.capacity, words(self.max_key_bytes, self.fields))),
            "held": (np.int64, ()),
            "seen": (np.int64, ()),
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        kernel.add(
            arrays["records"],
            arrays["records"].view(np.uint8),
            arrays["held"],
            arrays["seen"],
            slots,
            items.keys,
            items.texts.buffer,
            items.texts.offsets,
            value_columns(items, self.fields).view(np.uint64),
            np.ascontiguousarray(items.times).view(np.uint64),
            self.k,
            self.window,
            np.uint64(self.seed),
            self.max_key_bytes,
        )

    def _merge(self, other: Self) -> None:
        raise MergeError("chain_sample is not mergeable")

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        records, held = self.arrays["records"][0], int(self.arrays["held"][0])
        seen = int(self.arrays["seen"][0])
        if not (0 <= held <= min(seen, self.capacity) and seen < 2**62):
            raise StateError(f"chain_sample: {held} records of {seen} items")
        numbers = records[:held, 1]
        rising = (numbers[1:] > numbers[:-1]).all() and (held == 0) == (seen == 0)
        if not rising or (held and (numbers[0] < 1 or numbers[-1] != seen)):
            raise StateError("chain_sample: the records are not in the order of their numbers")
        if not records_are_sound(records, held, self.fields):
            raise StateError("chain_sample: a record has an impossible value or key")

    @classmethod
    def example(cls) -> Self:
        return cls(k=10, window=100)

    def _kept(self) -> NDArray[np.uint64]:
        """The sample in the order of arrival."""
        records = self.arrays["records"][0, : int(self.arrays["held"][0])]
        oldest = int(self.arrays["seen"][0]) - self.window + 1
        inside = records[records[:, 1].astype(np.int64) >= oldest]
        highest = np.argsort(inside[:, 0], kind="stable")[::-1][: self.k]
        return inside[np.sort(highest)]

    @question
    def sample(self) -> Estimate:
        """The records of the sample, oldest first: key, value and time of each.

        With several `fields`, the values of each are under their names.
        """
        population = min(self.window, int(self.arrays["seen"][0]))
        return Estimate(
            shown(self._kept(), self.max_key_bytes, self.fields), details={"of": population}
        )
