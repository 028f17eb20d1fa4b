"""Tuples are grouped by data set and shard, and their stream names numbered within each group.

Data sets that nobody reads are one group in each shard: a message may name very many of them.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sde.kernels import distinct as kernel
from sde.tuples.block import UNREAD, first_words
from sde.tuples.column import Coded
from sde.tuples.needs import NeedsByDataset
from sde.tuples.spans import gather
from synopses.texts import Texts

_SEED = np.uint64(secrets.randbits(64))  # no result depends on it
_FEW = 512  # distinct names, for which there is room at first


@dataclass(frozen=True, slots=True)
class Group:
    """The tuples order[start:end] of `Routes`."""

    dataset: str
    shard: int
    start: int
    end: int
    streams: Texts
    stream_hashes: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Routes:
    """Where each tuple goes: `columns` and `assembly` make a block of each group."""

    groups: list[Group]
    order: NDArray[np.int64]  # the tuples, group by group, each in the order they came
    group_of: NDArray[np.int32]  # of each tuple
    place_of: NDArray[np.int64]  # of each tuple, in its group
    stream_of: NDArray[np.int32]  # of each tuple, among the streams of its group


@dataclass(frozen=True, slots=True)
class Spans:
    """A name for each tuple: buffer[starts[i]:ends[i]]."""

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, indices: NDArray[np.int64]) -> Spans:
        return Spans(self.buffer, self.starts[indices], self.ends[indices])

    @classmethod
    def of(cls, texts: Texts) -> Spans:
        return cls(texts.buffer, texts.offsets[:-1], texts.offsets[1:])


@dataclass(frozen=True, slots=True)
class _Numbered:
    """The distinct (parent, name) of tuples, in order of first appearance."""

    names: Texts
    parents: NDArray[np.int64]  # of each name
    number_of: NDArray[np.int32]  # of each tuple, among the names


@dataclass(frozen=True, slots=True)
class _Routed:
    """The distinct names of tuples (of streams, or of data sets that nobody reads)."""

    names: Texts
    hashes: NDArray[np.uint64]  # of each name
    codes: NDArray[np.int64]  # of each name: number of the data set * shards + shard
    number_of: NDArray[np.int32]  # of each tuple, among the names


def route(
    datasets: Spans | Coded,
    streams: Spans | Coded,
    shards: int,
    wanted: NeedsByDataset | None = None,
) -> Routes:
    """Group tuples by the data set and stream that each of them names.

    What is not `wanted` (None: all is) becomes a group with the data set UNREAD for each shard.

    shard = (hash of the stream ^ hash of the data set) % shards, by their first words: that may
    never change, since states lie where it says.

    >>> dataset = Coded(Texts.of(["Forex"]), np.zeros(3, np.int32))
    >>> routes = route(dataset, Spans.of(Texts.of(["EURUSD", "GBPUSD", "EURUSD"])), shards=1)
    >>> routes.groups[0].streams[0], routes.stream_of.tolist()
    ('EURUSD', [0, 1, 0])
    """
    rows = len(streams)
    by_dataset = _numbered(datasets, None)
    dataset_names = by_dataset.names
    by_name = _numbered(streams, by_dataset.number_of if len(dataset_names) > 1 else None)
    hashes, dataset_hashes = first_words(by_name.names), first_words(dataset_names)
    shard = (hashes ^ dataset_hashes[by_name.parents]) % np.uint64(shards)
    name_codes = by_name.parents * shards + shard.astype(np.int64)
    routed = _Routed(by_name.names, hashes, name_codes, by_name.number_of)
    if wanted is not None:
        unread = np.array([wanted.get(name) is None for name in dataset_names], np.bool_)
        if unread.any():
            routed = _without_unread(routed, unread, dataset_names, dataset_hashes, shards)
    names, hashes, name_of = routed.names, routed.hashes, routed.number_of

    codes, name_group = np.unique(routed.codes, return_inverse=True)
    by_group = np.argsort(name_group, kind="stable")
    name_ends = np.cumsum(np.bincount(name_group, minlength=len(codes)))
    name_starts = name_ends - np.bincount(name_group, minlength=len(codes))
    number_in_group = np.empty(len(names), np.int32)
    number_in_group[by_group] = np.arange(len(names)) - name_starts[name_group[by_group]]

    group_of = name_group.astype(np.int32).take(name_of)
    bounds = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(np.bincount(group_of, minlength=len(codes)), out=bounds[1:])
    order, place_of = np.empty(rows, np.int64), np.empty(rows, np.int64)
    kernel.sort_by_group(group_of, bounds, bounds.copy(), order, place_of)
    groups = []
    for g, code in enumerate(codes.tolist()):
        own = by_group[name_starts[g] : name_ends[g]]
        number = code // shards
        dataset = dataset_names[number] if number < len(dataset_names) else UNREAD
        start, end = int(bounds[g]), int(bounds[g + 1])
        groups.append(Group(dataset, code % shards, start, end, names.take(own), hashes[own]))
    return Routes(groups, order, group_of, place_of, number_in_group.take(name_of))


def _without_unread(
    routed: _Routed,
    unread: NDArray[np.bool_],
    datasets: Texts,
    dataset_hashes: NDArray[np.uint64],
    shards: int,
) -> _Routed:
    """Of the data sets that are unread, only their names and shards: all with one number."""
    is_unread = unread[routed.codes // shards]
    kept = np.flatnonzero(~is_unread)
    codes, code_of = np.unique(routed.codes[is_unread], return_inverse=True)
    new_number = np.empty(len(routed.codes), np.int32)
    new_number[kept] = np.arange(len(kept))
    new_number[is_unread] = len(kept) + code_of
    names = _joined(routed.names.take(kept), datasets.take(codes // shards))
    return _Routed(
        names,
        np.concatenate((routed.hashes[kept], dataset_hashes[codes // shards])),
        np.concatenate((routed.codes[kept], len(datasets) * shards + codes % shards)),
        new_number.take(routed.number_of),
    )


def _joined(some: Texts, others: Texts) -> Texts:
    offsets = np.concatenate((some.offsets, others.offsets[1:] + some.offsets[-1]))
    return Texts(np.concatenate((some.buffer, others.buffer)), offsets)


def _numbered(names: Spans | Coded, parents: NDArray[np.int32] | None) -> _Numbered:
    """The distinct names of tuples within their parents; without parents all have the same one."""
    if not isinstance(names, Coded):
        return _distinct(names, parents)
    if parents is not None:
        return _distinct(Spans.of(names.texts).take(names.codes.astype(np.int64)), parents)
    used = names.without_unused()
    merged = _distinct(Spans.of(used.texts), None)  # anybody may have written a text twice
    return _Numbered(merged.names, merged.parents, merged.number_of.take(used.codes))


def _distinct(spans: Spans, parents: NDArray[np.int32] | None) -> _Numbered:
    if parents is None:
        parents = np.zeros(len(spans), np.int32)
    number_of = np.empty(len(spans), np.int32)
    about = (spans.buffer, spans.starts, spans.ends, parents, _SEED, number_of)
    table, firsts = _room_for(_FEW)
    row, count = kernel.distinct(*about, 0, 0, table, firsts)
    while row < len(spans):
        known, (larger, more) = firsts, _room_for(4 * count)
        more[:count] = known
        kernel.copy_entries(table, _SEED, larger)
        table, firsts = larger, more
        row, count = kernel.distinct(*about, row, count, table, firsts)
    firsts = firsts[:count]
    names = gather(spans.buffer, spans.starts[firsts], spans.ends[firsts])
    return _Numbered(names, parents[firsts].astype(np.int64), number_of)


def _room_for(names: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """A table, and where names first stood, for so many of them: a power of two."""
    return np.zeros((2 * names, 4), np.uint64), np.empty(names, np.int64)
