"""A block: tuples of one data set bound for one shard, as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import mmh3
import numpy as np
from numpy.typing import NDArray

from sde.arrays import ArrayReader, ArrayWriter
from sde.column import Column
from sde.kernels.distinct import renumber
from sde.kernels.identities import identities
from synopses.errors import StateError
from synopses.hashing import HASH_SEED, hash_texts
from synopses.texts import Texts

_NO_LINES = np.empty(0, np.uint32)


@dataclass(frozen=True, eq=False)
class Block:
    """n tuples from one topic partition, in the order they stood there. Never changed.

    streams        the distinct stream names of this block, in order of first appearance
    stream_hashes  uint64: the first word of each name's hash
    stream_of      int32 (n,): index into streams
    times          int64 (n,): milliseconds since the epoch
    arrivals       int64 (n,): when the broker got the tuple; None: that is what `times` says
    offsets        uint32 (n,): the message's offset, counted from `base`, the smallest one
    lines          uint32 (n,): the line (or row) within the message; None: 0 for all
    fields         the columns, by field name; each has at least one value
    """

    dataset: str
    shard: int
    topic: str
    partition: int
    base: int
    streams: Texts
    stream_hashes: NDArray[np.uint64]
    stream_of: NDArray[np.int32]
    times: NDArray[np.int64]
    offsets: NDArray[np.uint32]
    lines: NDArray[np.uint32] | None
    fields: dict[str, Column]
    arrivals: NDArray[np.int64] | None = None
    _cache: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.stream_of)

    @property
    def order(self) -> tuple[str, int, int, int]:
        """Sorts the blocks of one data set and shard as their tuples stood in the topics.

        A message of many lines may be cut into several blocks, so its offset alone is not enough.
        """
        line = 0 if self.lines is None or not len(self.lines) else int(self.lines[0])
        return self.topic, self.partition, self.base, line

    def _once(self, what: str, name: str, compute: Callable[[], Any]) -> Any:
        if (what, name) not in self._cache:
            self._cache[what, name] = compute()
        return self._cache[what, name]

    def column(self, name: str) -> Column:
        """A field, or one without values if no tuple has it."""
        column = self.fields.get(name)
        if column is None:
            column = self._once("missing", "", lambda: Column.missing(len(self)))
        return column

    def keys(self, name: str) -> tuple[NDArray[np.uint64], NDArray[np.bool_] | None]:
        """The hashes (n, 2) of a field's text forms, and which rows have the field (None: all)."""
        column = self.column(name)
        return self._once("keys", name, column.keys), column.valid

    def texts(self, name: str) -> Texts:
        """The text forms of a field."""
        texts: Texts = self._once("texts", name, self.column(name).texts)
        return texts

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A field as numbers; NaN where it is missing or not a number."""
        numbers: NDArray[np.float64] = self._once("numbers", name, self.column(name).numbers)
        return numbers

    def ids(self) -> NDArray[np.uint64]:
        """The identity of each record, made from topic, partition, offset and line alone."""
        ids: NDArray[np.uint64] = self._once("ids", "", self._compute_ids)
        return ids

    def _compute_ids(self) -> NDArray[np.uint64]:
        source = f"{self.partition} {self.topic}".encode()
        hashed = np.uint64(mmh3.hash64(source, seed=HASH_SEED, signed=False)[0])
        out = np.empty(len(self.offsets), np.uint64)
        lines = _NO_LINES if self.lines is None else self.lines
        identities(hashed, np.int64(self.base), self.offsets, lines, out)
        return out

    def select(self, fields: Iterable[str], times: bool, ids: bool) -> Block:
        """Only these fields, and times and what ids are made of if wanted; the rest is empty."""
        return replace(
            self,
            fields={name: self.fields[name] for name in fields if name in self.fields},
            times=self.times if times else self.times[:0],
            arrivals=self.arrivals if times else None,
            offsets=self.offsets if ids else self.offsets[:0],
            lines=self.lines if ids else None,
            _cache={},
        )

    def take(self, indices: NDArray[np.int64]) -> Block:
        """The tuples at `indices`, in that order."""
        stream_of = np.empty(len(indices), np.int32)
        used = np.empty(len(self.streams), np.int64)
        used = used[: renumber(self.stream_of[indices], stream_of, used)]
        offsets = self.offsets[indices] if len(self.offsets) else self.offsets
        shift = offsets.min() if len(offsets) else np.uint32(0)
        columns = {name: column.take(indices) for name, column in self.fields.items()}
        return replace(
            self,
            base=self.base + int(shift),
            streams=self.streams.take(used),
            stream_hashes=self.stream_hashes[used],
            stream_of=stream_of,
            times=self.times[indices] if len(self.times) else self.times,
            arrivals=None if self.arrivals is None else self.arrivals[indices],
            offsets=offsets - shift,
            lines=None if self.lines is None else self.lines[indices],
            fields={n: c for n, c in columns.items() if c.valid is None or c.valid.any()},
            _cache={},
        )

    def to_bytes(self, compress: bool = False) -> bytes:
        """For the exchange between stages and the log; what can be computed is left out."""
        writer = ArrayWriter()
        writer.put_texts(self.streams)
        writer.put_integers(self.stream_of)
        writer.put_integers(self.times)
        writer.put_integers(self.offsets)
        if self.lines is not None:
            writer.put_integers(self.lines)
        if self.arrivals is not None:
            writer.put_integers(self.arrivals)
        about = {
            "dataset": self.dataset,
            "shard": self.shard,
            "topic": self.topic,
            "partition": self.partition,
            "base": self.base,
            "lines": self.lines is not None,
            "arrivals": self.arrivals is not None,
            "fields": [[name, *writer.put_column(column)] for name, column in self.fields.items()],
        }
        return writer.to_bytes(about, compress)

    @classmethod
    def from_bytes(cls, data: bytes) -> Block:
        """StateError if the bytes are not exactly what `to_bytes` wrote."""
        reader = ArrayReader(data)
        try:
            return cls._read(reader, reader.about)
        except (KeyError, TypeError, ValueError, StopIteration, OverflowError) as error:
            raise StateError(f"the header of a block cannot be read: {error!r}") from None

    @classmethod
    def _read(cls, reader: ArrayReader, about: dict[str, Any]) -> Block:
        streams = reader.texts()
        stream_of = reader.integers(np.int32)
        rows = len(stream_of)
        if rows and not 0 <= int(stream_of.min()) <= int(stream_of.max()) < len(streams):
            raise StateError(f"a stream beyond the {len(streams)} of the block")
        block = cls(
            dataset=str(about["dataset"]),
            shard=int(about["shard"]),
            topic=str(about["topic"]),
            partition=int(about["partition"]),
            base=int(about["base"]),
            streams=streams,
            stream_hashes=first_words(streams),
            stream_of=stream_of,
            times=reader.integers(np.int64, rows),
            offsets=reader.integers(np.uint32, rows),
            lines=reader.integers(np.uint32, rows) if about["lines"] else None,
            arrivals=reader.integers(np.int64, rows) if about["arrivals"] else None,
            fields={n: reader.column(rows, kind, valid) for n, kind, valid in about["fields"]},
        )
        reader.finish()
        return block


def first_words(texts: Texts) -> NDArray[np.uint64]:
    """The first word of each text's hash, which routes."""
    return np.ascontiguousarray(hash_texts(texts)[:, 0])
