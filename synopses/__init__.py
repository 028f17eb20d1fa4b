"""Fast, mergeable, serialisable summaries of streams, with stated guarantees."""

from synopses.ams import AMS
from synopses.base import Arrays, BankedSynopsis, Layout, Synopsis
from synopses.bloom import Bloom
from synopses.chain_sample import ChainSample
from synopses.coreset import Coreset
from synopses.count_min import ConservativeCountMin, CountMin
from synopses.dft import DFT
from synopses.errors import MergeError, ParameterError, QueryError, StateError, SynopsisError
from synopses.fm import FM
from synopses.frequent_items import FrequentItems
from synopses.histogram import Histogram
from synopses.hyperloglog import HyperLogLog
from synopses.items import Items
from synopses.kinds import KINDS, from_bytes
from synopses.log_histogram import LogHistogram
from synopses.lossy_counting import LossyCounting
from synopses.lsh import LSH
from synopses.moments import Moments
from synopses.parameters import parameter
from synopses.quantiles import Quantiles
from synopses.questions import Estimate, question
from synopses.sample import Sample
from synopses.sticky_sampling import StickySampling
from synopses.streams import Streams
from synopses.texts import Texts
from synopses.theta import Theta
from synopses.top_k import TopK
from synopses.trajectory import Trajectory

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
