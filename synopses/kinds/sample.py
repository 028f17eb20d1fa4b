"""Sample: k records that stand for all."""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays, BankedSynopsis, Layout
from synopses.by_slot import by_slot
from synopses.errors import StateError
from synopses.items import Items
from synopses.kernels import sample as kernel
from synopses.parameters import parameter
from synopses.questions import Estimate, question
from synopses.sampled_records import (
    record_values,
    records_are_sound,
    shown,
    value_columns,
    words,
)

_CONFIDENCE = 0.95
_Z = 1.959964  # normal deviations of that confidence


class Sample(BankedSynopsis):
    """A uniform or weighted sample without replacement, of records as they came.

    Every set of `k` records is equally likely to be the sample; with `weighted`, a record is in
    it in proportion to its value, as in priority sampling [1]_, and records of value 0 or less
    are left out. Chance comes from a hash of the record's identity: the sample keeps the k
    records of the smallest hash (bottom-k [2]_). So it does not depend on order, a record read
    again is one record, and merged samples are the sample of everything. The record of the next
    larger hash is kept too: it tells how many records, or how much weight, there were, within
    bounds that hold with probability 0.95.

    Examples
    --------
    >>> from synopses import Items, Sample
    >>> sample = Sample(k=2)
    >>> sample.add(Items.of(["a", "b"], values=[1, 2], times=[10, 20]))
    >>> sorted(record["key"] for record in sample.sample().value)
    ['a', 'b']
    >>> sample.population().value
    2.0

    References
    ----------
    .. [1] Duffield, Lund and Thorup, Priority sampling for estimation of arbitrary subset sums,
       J. ACM 54(6), 2007.
    .. [2] Cohen and Kaplan, Summarizing data using bottom-k sketches, PODC 2007.
    """

    kind = "sample"
    order_free = True
    idempotent = True
    reads = frozenset({"keys", "texts", "values", "times", "ids"})
    value_fields: ClassVar[int | str] = "fields"
    guarantee = "every set of k records is equally likely (weighted: in proportion to value)"

    k: int = parameter(100, least=1, most=10_000, doc="number of records")
    weighted: bool = parameter(False, doc="prefer records of larger (first) value")
    fields: int = parameter(1, least=1, most=64, doc="value fields kept of a record", added=True)
    max_key_bytes: int = parameter(
        48, least=1, most=1000, unit="bytes", doc="longer keys are cut when shown"
    )
    seed: int = parameter(0, least=0, most=2**32, doc="other seeds give independent samples")

    def layout(self) -> Layout:
        return {
            "records": (np.uint64, (self.k + 1, words(self.max_key_bytes, self.fields))),
            "held": (np.int64, ()),
        }

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        slots, items = by_slot(self.memory, slots, items)
        values = value_columns(items, self.fields)
        kernel.add(
            arrays["records"],
            arrays["records"].view(np.uint8),
            arrays["held"],
            slots,
            items.keys,
            items.texts.buffer,
            items.texts.offsets,
            values,
            values.view(np.uint64),
            np.ascontiguousarray(items.times).view(np.uint64),
            items.ids,
            self.weighted,
            np.uint64(self.seed),
            self.max_key_bytes,
        )

    def _merge(self, other: Self) -> None:
        theirs = other.arrays
        kernel.merge(
            self.arrays["records"], self.arrays["held"], theirs["records"][0], theirs["held"][0]
        )

    def _load(self, payload: memoryview) -> None:
        super()._load(payload)
        records, held = self.arrays["records"][0], int(self.arrays["held"][0])
        if not (0 <= held <= self.k + 1 and records_are_sound(records, held, self.fields)):
            raise StateError(f"sample: {held} records, expected at most {self.k + 1}")
        order = np.lexsort((records[:held, 1], records[:held, 0]))
        ranks = records[:held, 0].copy().view(np.float64)
        if (order != np.arange(held)).any() or not (np.isfinite(ranks) & (ranks > 0)).all():
            raise StateError("sample: the records are not in the order of their ranks")

    def _kept(self) -> NDArray[np.uint64]:
        return self.arrays["records"][0, : min(self.k, int(self.arrays["held"][0]))]

    @question
    def sample(self) -> Estimate:
        """The records of the sample: key, value and time of each.

        With several `fields`, the values of each are under their names.
        """
        return Estimate(shown(self._kept(), self.max_key_bytes, self.fields))

    @question
    def population(self) -> Estimate:
        """How many records there were (weighted: the sum of their values)."""
        sampled = self._kept()
        values = record_values(sampled)
        weights = np.clip(values, 1e-100, 1e100) if self.weighted else np.ones(len(sampled))
        known = float(weights.sum())
        if self.arrays["held"][0] <= self.k:
            return Estimate(known, known, known, 1.0)
        # Priority sampling: a record stands for max(weight, share), where 1 / share is the rank
        # of the first one left out. Records lighter than a share arrive in the sample like the
        # events of a Poisson process, so their number bounds their weight like such a count.
        share = 1 / float(self.arrays["records"][0, self.k : self.k + 1, 0].view(np.float64)[0])
        heavy, light = float(weights[weights >= share].sum()), int((weights < share).sum())
        lower, upper = heavy + share * _gamma(light, -_Z), heavy + share * _gamma(light + 1, _Z)
        value = heavy + share * light
        return Estimate(max(known, value), max(known, lower), max(known, upper), _CONFIDENCE)


def _gamma(shape: int, z: float) -> float:
    """Quantile of the gamma distribution at z normal deviations (Wilson and Hilferty 1931)."""
    if not shape:
        return 0.0
    return float(shape * max(0.0, 1 - 1 / (9 * shape) + z / (3 * math.sqrt(shape))) ** 3)
