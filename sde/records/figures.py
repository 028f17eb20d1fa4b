"""Figures of one batch for operators, from the tasks that have them to the driver.

They travel beside the rows of the stages, a few hundred bytes from each task. No answer depends on
them, and none is kept: a batch that is run again tells its figures again.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

MOST_NAMES = 100  # data sets of one shard that are told by name
WATCH_ANSWER = "watch_answer"  # in the place of an op: what a watch says of itself
OTHERS = "other"  # the rest of them, and of any other names that may be many


class Taken(Struct, frozen=True, kw_only=True):
    """What was decoded of one form: bytes of the payloads, and the tuples found in them."""

    form: str
    messages: int
    tuples: int
    size: int


class Reading(Struct, frozen=True, kw_only=True, tag="reading"):
    """What a task read of a partition. `newest`: when its last message came, in ms."""

    topic: str
    partition: int
    newest: int
    taken: list[Taken] = []
    lost: int = 0  # offsets that retention had deleted


class DatasetFigures(Struct, kw_only=True, omit_defaults=True):
    """What a shard holds of a data set, beyond what was promised to its synopses at creation.

    `streams`: of the synopsis without a window that has the most. `promised` and `watermark` (ms)
    are the same in all shards: the first tells them.
    """

    size: int = 0
    streams: int = 0
    promised: int = 0
    watermark: int | None = None


class SiteFigures(Struct, frozen=True):
    """Bytes from and to another site since the checkpoint began."""

    received: int
    sent: int


class EngineFigures(Struct, frozen=True, kw_only=True):
    """What all shards know alike, from the first. `watch_due`: of the first watch, in ms."""

    synopses: dict[str, int]  # uids by kind
    plugins: dict[str, int]  # versions by state
    watches: int
    watch_due: int | None
    sites: dict[str, SiteFigures]


class ShardFigures(Struct, frozen=True, kw_only=True, tag="shard"):
    """A shard after a batch; `left_out`: the tuples of this batch, by reason."""

    shard: int
    rebuilt: bool  # its arena, from the state store
    log_bytes: int
    snapshot_bytes: int
    left_out: dict[str, int]
    datasets: dict[str, DatasetFigures]
    engine: EngineFigures | None = None


class Watched(Struct, frozen=True):
    """An answer of a watch that is exported; without bounds where its kind has none."""

    value: float
    lower: float | None = None
    upper: float | None = None


class Written(Struct, frozen=True, kw_only=True, tag="written"):
    """What merge wrote: dead letters by code, replies by op and code ("ok" without a fault)."""

    letters: dict[str, int] = {}
    replies: list[tuple[str, str, int]] = []
    watched: dict[str, Watched | None] = {}  # by the watch's id; None: it has ended


class Committed(Struct, frozen=True, kw_only=True, tag="committed"):
    """How long the transaction took that wrote a batch's replies."""

    seconds: float


Figures = Reading | ShardFigures | Written | Committed
# Why tuples are not in a synopsis, as LeftOut names it.
LEFT_OUT_REASONS = ("skipped", "shed", "missed", "still_counted", "late", "future", "untimed")
_decoder = msgspec.json.Decoder(Figures)


def pack_figures(figures: Figures) -> bytes:
    """
    >>> unpack_figures(pack_figures(Committed(seconds=0.25)))
    Committed(seconds=0.25)
    """
    return msgspec.json.encode(figures)


def unpack_figures(body: bytes) -> Figures:
    """msgspec.DecodeError for what is none."""
    figures: Figures = _decoder.decode(body)
    return figures
