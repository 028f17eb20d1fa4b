"""Apache DataSketches' Python: the nearest sketch it has for each kind, item by item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import datasketches
import numpy as np

from bench.kernels.columns import Columns


@dataclass(frozen=True, slots=True)
class Peer:
    """A sketch of DataSketches and the column it is updated with."""

    name: str
    make: Callable[[], Any]
    column: str = "keys"
    vectorised: bool = False

    def batch(self, columns: Columns) -> Sequence[Any]:
        """The items as Python objects, as they would come out of a message."""
        found = getattr(columns, self.column)
        return list(found) if self.column == "keys" else found.tolist()


def _count_min() -> Any:
    return datasketches.count_min_sketch(5, 272)


def _frequent() -> Any:
    return datasketches.frequent_strings_sketch(8)


def _kll() -> Any:
    return datasketches.kll_doubles_sketch(200)


COUNT_MIN = Peer("count_min_sketch", _count_min)
FREQUENT = Peer("frequent_strings_sketch", _frequent)
KLL = Peer("kll_doubles_sketch", _kll, column="values", vectorised=True)
THETA = Peer("update_theta_sketch", datasketches.update_theta_sketch)
VAR_OPT = Peer("var_opt_sketch", lambda: datasketches.var_opt_sketch(100))

# Kinds that DataSketches has not got stand beside the nearest it has; some have none.
PEERS: dict[str, Peer] = {
    "ams": COUNT_MIN,
    "bloom": THETA,
    "chain_sample": VAR_OPT,
    "count_min": COUNT_MIN,
    "count_min_conservative": COUNT_MIN,
    "fm": Peer("cpc_sketch", lambda: datasketches.cpc_sketch(8)),
    "frequent_items": FREQUENT,
    "histogram": KLL,
    "hyperloglog": Peer("hll_sketch", lambda: datasketches.hll_sketch(12)),
    "log_histogram": Peer("tdigest_double", lambda: datasketches.tdigest_double(100), "values"),
    "lossy_counting": FREQUENT,
    "quantiles": KLL,
    "sample": VAR_OPT,
    "sticky_sampling": FREQUENT,
    "theta": THETA,
    "top_k": FREQUENT,
}


def per_item(peer: Peer, batch: Sequence[Any]) -> None:
    update = peer.make().update
    for item in batch:
        update(item)


def per_item_bank(sketches: Sequence[Any], batch: Sequence[Any], slots: Sequence[int]) -> None:
    for item, slot in zip(batch, slots, strict=True):
        sketches[slot].update(item)


def vectorised(peer: Peer, columns: Columns) -> None:
    peer.make().update(np.asarray(getattr(columns, peer.column)))
