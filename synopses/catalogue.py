"""Every kind by its name: the built-in ones, and those that installed packages offer.

A package offers a kind through the entry-point group "sde.synopses":

[project.entry-points."sde.synopses"]
geofence = "my_package.geofence:Geofence"
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections import UserDict
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points

from synopses.base import Synopsis
from synopses.errors import StateError
from synopses.kinds.ams import AMS
from synopses.kinds.bloom import Bloom
from synopses.kinds.chain_sample import ChainSample
from synopses.kinds.coreset import Coreset
from synopses.kinds.count_min import ConservativeCountMin, CountMin
from synopses.kinds.dft import DFT
from synopses.kinds.fm import FM
from synopses.kinds.frequent_items import FrequentItems
from synopses.kinds.histogram import Histogram
from synopses.kinds.hyperloglog import HyperLogLog
from synopses.kinds.log_histogram import LogHistogram
from synopses.kinds.lossy_counting import LossyCounting
from synopses.kinds.lsh import LSH
from synopses.kinds.moments import Moments
from synopses.kinds.quantiles import Quantiles
from synopses.kinds.sample import Sample
from synopses.kinds.sticky_sampling import StickySampling
from synopses.kinds.theta import Theta
from synopses.kinds.top_k import TopK
from synopses.kinds.trajectory import Trajectory
from synopses.state import unpack

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
_GROUP = "sde.synopses"
_log = logging.getLogger(__name__)


class _Kinds(UserDict[str, type[Synopsis]]):
    """Filled when first looked at: what packages offer imports `synopses`, which must be done."""

    def __init__(self) -> None:
        pass

    @functools.cached_property
    def data(self) -> dict[str, type[Synopsis]]:  # type: ignore[override]
        found = {cls.kind: cls for cls in _CLASSES}
        for entry, cls in _offered():
            if cls.kind in found:
                _log.warning("%s is left out: %r is a kind already", _shown(entry), cls.kind)
            else:
                found[cls.kind] = cls
        return found


def _offered() -> Iterator[tuple[EntryPoint, type[Synopsis]]]:
    """The classes of installed packages; a broken one must not take the others with it."""
    for entry in sorted(entry_points(group=_GROUP)):
        try:
            yield entry, _checked(entry.load())
        except Exception as error:
            _log.warning("%s is left out: %s: %s", _shown(entry), type(error).__name__, error)


def _checked(cls: object) -> type[Synopsis]:
    if not inspect.isclass(cls) or not issubclass(cls, Synopsis):
        raise TypeError(f"{cls!r}: expected a subclass of synopses.Synopsis")
    if inspect.isabstract(cls):
        raise TypeError(
            f"{cls.__name__} does not define {', '.join(sorted(cls.__abstractmethods__))}"
        )
    kind = getattr(cls, "kind", None)
    if not isinstance(kind, str) or not kind.isidentifier():
        raise TypeError(f"{cls.__name__}.kind={kind!r}: expected a name")
    return cls


def _shown(entry: EntryPoint) -> str:
    package = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
    return f"the kind {entry.value}{package}"


KINDS = _Kinds()


def from_bytes(data: bytes) -> Synopsis:
    """A synopsis of whatever kind `data` says it is."""
    kind = unpack(data).kind
    if kind not in KINDS:
        raise StateError(f"these bytes hold the kind {kind!r}; known are {', '.join(KINDS)}")
    return KINDS[kind].from_bytes(data)
