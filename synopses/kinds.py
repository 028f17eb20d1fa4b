"""Every kind by its name."""

from __future__ import annotations

from synopses.ams import AMS
from synopses.base import Synopsis
from synopses.bloom import Bloom
from synopses.chain_sample import ChainSample
from synopses.coreset import Coreset
from synopses.count_min import ConservativeCountMin, CountMin
from synopses.dft import DFT
from synopses.errors import StateError
from synopses.fm import FM
from synopses.frequent_items import FrequentItems
from synopses.histogram import Histogram
from synopses.hyperloglog import HyperLogLog
from synopses.log_histogram import LogHistogram
from synopses.lossy_counting import LossyCounting
from synopses.lsh import LSH
from synopses.moments import Moments
from synopses.quantiles import Quantiles
from synopses.sample import Sample
from synopses.state import unpack
from synopses.sticky_sampling import StickySampling
from synopses.theta import Theta
from synopses.top_k import TopK
from synopses.trajectory import Trajectory

_CLASSES: tuple[type[Synopsis], ...] = (
    AMS,
    DFT,
    Bloom,
    ChainSample,
    ConservativeCountMin,
    Coreset,
    CountMin,
    FM,
    LSH,
    FrequentItems,
    Histogram,
    HyperLogLog,
    LogHistogram,
    LossyCounting,
    Moments,
    Quantiles,
    Sample,
    StickySampling,
    Theta,
    TopK,
    Trajectory,
)
KINDS: dict[str, type[Synopsis]] = {cls.kind: cls for cls in _CLASSES}


def from_bytes(data: bytes) -> Synopsis:
    """A synopsis of whatever kind `data` says it is."""
    kind = unpack(data).kind
    if kind not in KINDS:
        raise StateError(f"these bytes hold the kind {kind!r}; known are {', '.join(KINDS)}")
    return KINDS[kind].from_bytes(data)
