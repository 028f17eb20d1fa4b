"""Fast, mergeable, serialisable summaries of streams, with stated guarantees."""

from synopses.base import Arrays, BankedSynopsis, Layout, Synopsis
from synopses.catalogue import KINDS, from_bytes
from synopses.errors import MergeError, ParameterError, QueryError, StateError, SynopsisError
from synopses.items import Items
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
from synopses.parameters import parameter
from synopses.questions import Estimate, question
from synopses.streams import Streams
from synopses.texts import Texts

__all__ = [
    "AMS",
    "DFT",
    "FM",
    "KINDS",
    "LSH",
    "Arrays",
    "BankedSynopsis",
    "Bloom",
    "ChainSample",
    "ConservativeCountMin",
    "Coreset",
    "CountMin",
    "Estimate",
    "FrequentItems",
    "Histogram",
    "HyperLogLog",
    "Items",
    "Layout",
    "LogHistogram",
    "LossyCounting",
    "MergeError",
    "Moments",
    "ParameterError",
    "Quantiles",
    "QueryError",
    "Sample",
    "StateError",
    "StickySampling",
    "Streams",
    "Synopsis",
    "SynopsisError",
    "Texts",
    "Theta",
    "TopK",
    "Trajectory",
    "from_bytes",
    "parameter",
    "question",
]
