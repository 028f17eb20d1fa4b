"""Apache DataSketches' Python: the nearest sketch it has for each kind, item by item.

Where it has the same sketch, shape and accuracy are those of our default. Where it has not:

ams       count_min_sketch of AMS's shape: an AMS update is that of Count-Min with a sign.
bloom     update_theta_sketch: also a set of hashes; a key costs it little more than its hash,
          since most are refused right after.
fm        cpc_sketch of as many rows: the successor of PCSA, on the same bits.
samples   var_opt_sketch of as many items: DataSketches' sample.
counting  frequent_strings_sketch for all kinds that keep the heaviest keys.
histograms  kll_doubles_sketch and tdigest_double: they too answer for quantiles.

Moments, windows, coresets and trajectories have nothing like them there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import datasketches

from bench.kernels.columns import Columns
from synopses import AMS


@dataclass(frozen=True, slots=True)
class Peer:
    """A sketch of DataSketches and the column it is updated with."""

    name: str
    make: Callable[[], Any]
    column: str = "keys"
    vectorised: bool = False


def _ams_shaped() -> Any:
    return datasketches.count_min_sketch(AMS().depth, AMS().width)


def _hll() -> Any:
    return datasketches.hll_sketch(12, datasketches.HLL_8)  # a byte a register, as ours


COUNT_MIN = Peer("count_min_sketch", lambda: datasketches.count_min_sketch(5, 272))
FREQUENT = Peer("frequent_strings_sketch", lambda: datasketches.frequent_strings_sketch(8))
KLL = Peer("kll_doubles_sketch", lambda: datasketches.kll_doubles_sketch(200), "values", True)
TDIGEST = Peer("tdigest_double", lambda: datasketches.tdigest_double(100), "values", True)
THETA = Peer("update_theta_sketch", datasketches.update_theta_sketch)
VAR_OPT = Peer("var_opt_sketch", lambda: datasketches.var_opt_sketch(100))

PEERS: dict[str, Peer] = {
    "ams": Peer("count_min_sketch", _ams_shaped),
    "bloom": THETA,
    "chain_sample": VAR_OPT,
    "count_min": COUNT_MIN,
    "count_min_conservative": COUNT_MIN,
    "fm": Peer("cpc_sketch", lambda: datasketches.cpc_sketch(8)),
    "frequent_items": FREQUENT,
    "histogram": KLL,
    "hyperloglog": Peer("hll_sketch", _hll),
    "log_histogram": TDIGEST,
    "lossy_counting": FREQUENT,
    "quantiles": KLL,
    "sample": VAR_OPT,
    "sticky_sampling": FREQUENT,
    "theta": THETA,
    "top_k": FREQUENT,
}


def per_item(peer: Peer, sketch: Any, columns: Columns) -> None:
    update = sketch.update
    for item in columns.objects[peer.column]:
        update(item)


def per_item_bank(peer: Peer, sketches: Sequence[Any], columns: Columns) -> None:
    for item, slot in zip(columns.objects[peer.column], columns.objects["slots"], strict=True):
        sketches[slot].update(item)
