"""Tuples are grouped by data set and shard, and their stream names numbered within each group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sde.block import first_words
from sde.kernels import distinct as kernel
from sde.spans import gather
from synopses.texts import Texts


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


def route(datasets: Spans, streams: Spans, shards: int) -> Routes:
    """shard = (hash of the stream ^ hash of the data set) % shards, by their first words."""
    rows = len(streams.starts)
    dataset_of = np.empty(rows, np.int32)
    dataset_names, _ = _distinct(datasets, np.zeros(rows, np.int32), dataset_of)
    name_of = np.empty(rows, np.int32)
    names, firsts = _distinct(streams, dataset_of, name_of)

    hashes = first_words(names)
    name_dataset = dataset_of[firsts].astype(np.int64)
    shard = (hashes ^ first_words(dataset_names)[name_dataset]) % np.uint64(shards)
    codes, name_group = np.unique(
        name_dataset * shards + shard.astype(np.int64), return_inverse=True
    )
    by_group = np.argsort(name_group, kind="stable")
    name_ends = np.cumsum(np.bincount(name_group, minlength=len(codes)))
    name_starts = name_ends - np.bincount(name_group, minlength=len(codes))
    number_in_group = np.empty(len(names), np.int32)
    number_in_group[by_group] = np.arange(len(names)) - name_starts[name_group[by_group]]

    group_of = name_group.astype(np.int32)[name_of]
    bounds = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(np.bincount(group_of, minlength=len(codes)), out=bounds[1:])
    order, place_of = np.empty(rows, np.int64), np.empty(rows, np.int64)
    kernel.sort_by_group(group_of, bounds, order, place_of)
    groups = []
    for g, code in enumerate(codes.tolist()):
        own = by_group[name_starts[g] : name_ends[g]]
        dataset = dataset_names[code // shards]
        start, end = int(bounds[g]), int(bounds[g + 1])
        groups.append(Group(dataset, code % shards, start, end, names.take(own), hashes[own]))
    return Routes(groups, order, group_of, place_of, number_in_group[name_of])


def _distinct(
    spans: Spans, parents: NDArray[np.int32], numbers: NDArray[np.int32]
) -> tuple[Texts, NDArray[np.int64]]:
    firsts = kernel.distinct(spans.buffer, spans.starts, spans.ends, parents, numbers)
    return gather(spans.buffer, spans.starts[firsts], spans.ends[firsts]), firsts
