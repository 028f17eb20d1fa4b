"""A block: tuples of one data set bound for one shard, as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import mmh3
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from sde.kernels.identities import identities
from sde.tuples.arrays import ArrayReader, ArrayWriter, BlockHeader, Buffer
from sde.tuples.column import Coded, Column
from sde.tuples.needs import Needs, NeedsByDataset
from synopses.errors import StateError
from synopses.hashing import HASH_SEED, hash_texts, list_texts
from synopses.texts import Texts

Key = str | tuple[str, ...]  # the field that is the key, or those that make it together
OFFSET_ROOM = 1 << 32  # a block counts offsets from its first in 32 bits
UNREAD = ""  # in the place of a data set's name: no data set is called so
_NO_LINES = np.empty(0, np.uint32)


@dataclass(frozen=True, eq=False)
class Block:
    """n tuples from one topic partition, in the order they stood there. Never changed.

    Ingest makes it (`sde.decoding`), it travels to its shard as bytes, maintain adds it to the
    layers and writes it to the shard's log.

    dataset        UNREAD for tuples of data sets that nobody read when the block was made; then
                   `streams` are not streams but the names of those data sets
    streams        the distinct stream names of this block, in order of first appearance
    stream_hashes  uint64: the first word of each name's hash
    stream_of      int32 (n,): index into streams
    times          int64 (n,): milliseconds since the epoch
    arrivals       int64 (n,): when the broker got the tuple; None: that is what `times` says
    offsets        uint32 (n,): the message's offset, counted from `base`, the smallest one
    lines          uint32 (n,): the line (or row) within the message; None: 0 for all
    fields         the columns, by field name; each has at least one value
    line           the line of the first tuple
    removes        whether its tuples are taken away, not added: rows that a database deleted. Their
                   time is NO_TIME where they do not say it: when they arrived they were removed
    kept           what was kept of the tuples (None: everything); the rest is empty
    read_again     gives what its messages hold for its shard, with everything
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
    line: int = 0
    removes: bool = False
    kept: Needs | None = None
    read_again: Callable[[], list[Block]] | None = field(default=None, repr=False)
    _cache: dict[tuple[str, Key], Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.stream_of)

    @property
    def order(self) -> tuple[bool, str, int, int, int]:
        """Sorts the blocks of one data set and shard as their tuples stood in the topics.

        A message of many lines may be cut into several blocks, so its offset alone is not enough.
        Those that remove come last: what they take away was added before it was removed.
        """
        return self.removes, self.topic, self.partition, self.base, self.line

    def _once(self, what: str, name: Key, compute: Callable[[], Any]) -> Any:
        """Layers share what is computed: the same array for all of them, not to be changed."""
        if (what, name) not in self._cache:
            self._cache[what, name] = compute()
        return self._cache[what, name]

    def column(self, name: str) -> Column:
        """A field, or one without values if no tuple has it."""
        column = self.fields.get(name)
        if column is None:
            column = self._once("missing", "", lambda: Column.missing(len(self)))
        return column

    def keys(self, key: Key) -> tuple[NDArray[np.uint64], NDArray[np.bool_] | None]:
        """The hashes (n, 2) of the keys' text forms, and which rows have one (None: all)."""
        if isinstance(key, str):
            column = self.column(key)
            return self._once("keys", key, column.keys), column.valid
        hashes = self._once("keys", key, lambda: hash_texts(self.texts(key)))
        return hashes, self._once("valid", key, lambda: self._has_all(key))

    def texts(self, key: Key) -> Texts:
        """The text forms of a field, or of the keys that several make."""
        if isinstance(key, str):
            compute = self.column(key).texts
        else:
            compute = partial(list_texts, [self.texts(name) for name in key])
        texts: Texts = self._once("texts", key, compute)
        return texts

    def _has_all(self, names: tuple[str, ...]) -> NDArray[np.bool_] | None:
        """Which rows have all of these fields (None: every one)."""
        valid = [column.valid for column in map(self.column, names) if column.valid is not None]
        return np.logical_and.reduce(valid) if valid else None

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

    def lacks(self, needs: Needs) -> bool:
        """Whether something that is needed was left out when the block was made."""
        return self.kept is not None and not self.kept.cover(needs)

    def take(self, rows: NDArray[np.int64]) -> Block:
        """The tuples in these rows, in that order."""
        named = Coded(self.streams, self.stream_of).take(rows)
        return replace(
            self,
            streams=named.texts,
            stream_hashes=first_words(named.texts),
            stream_of=named.codes,
            fields={name: column.take(rows) for name, column in self.fields.items()},
            times=self.times[rows] if len(self.times) else self.times,
            arrivals=None if self.arrivals is None else self.arrivals[rows],
            offsets=self.offsets[rows] if len(self.offsets) else self.offsets,
            lines=None if self.lines is None else self.lines[rows],
            read_again=None,
            _cache={},
        )

    def select(self, needs: Needs) -> Block:
        """Only what is needed; the rest is empty."""
        return replace(
            self,
            fields={name: c for name, c in self.fields.items() if name in needs.fields},
            times=self.times if needs.times else self.times[:0],
            arrivals=self.arrivals if needs.times else None,
            offsets=self.offsets if needs.ids else self.offsets[:0],
            lines=self.lines if needs.ids else None,
            kept=needs,
            _cache={},
        )

    def to_bytes(self, compress: bool = False) -> bytes:
        """For the exchange between stages and the log; what can be computed is left out."""
        return b"".join(self.to_parts(compress))

    def to_parts(self, compress: bool = False) -> list[Buffer]:
        """The same bytes in several pieces, most of them not copied."""
        writer = ArrayWriter()
        writer.put_texts(self.streams)
        writer.put_integers(self.stream_of)
        writer.put_integers(self.times)
        writer.put_integers(self.offsets)
        if self.lines is not None:
            writer.put_integers(self.lines)
        if self.arrivals is not None:
            writer.put_integers(self.arrivals)
        header = BlockHeader(
            dataset=self.dataset,
            shard=self.shard,
            topic=self.topic,
            partition=self.partition,
            base=self.base,
            line=self.line,
            kept=None if self.kept is None else self.kept.as_json(),
            lines=self.lines is not None,
            arrivals=self.arrivals is not None,
            removes=self.removes or UNSET,
            fields=[(name, *writer.put_column(column)) for name, column in self.fields.items()],
        )
        return writer.to_parts(header, compress)

    @classmethod
    def from_bytes(cls, data: Buffer) -> Block:
        """StateError if the bytes are not exactly what `to_bytes` wrote.

        What can be written to is not copied: the block's arrays are parts of it.
        """
        reader = ArrayReader(data)
        try:
            return cls._read(reader)
        except (TypeError, ValueError, StopIteration, OverflowError) as error:
            raise StateError(f"the header of a block cannot be read: {error!r}") from None

    @classmethod
    def _read(cls, reader: ArrayReader) -> Block:
        header = reader.header
        streams = reader.texts()
        stream_of = reader.integers(np.int32)
        rows = len(stream_of)
        if rows and not 0 <= int(stream_of.min()) <= int(stream_of.max()) < len(streams):
            raise StateError(f"a stream beyond the {len(streams)} of the block")
        block = cls(
            dataset=header.dataset,
            shard=header.shard,
            topic=header.topic,
            partition=header.partition,
            base=header.base,
            streams=streams,
            stream_hashes=first_words(streams),
            stream_of=stream_of,
            times=reader.integers(np.int64, rows),
            offsets=reader.integers(np.uint32, rows),
            lines=reader.integers(np.uint32, rows) if header.lines else None,
            arrivals=reader.integers(np.int64, rows) if header.arrivals else None,
            fields={n: reader.column(rows, form, valid) for n, form, valid in header.fields},
            line=header.line,
            removes=header.removes is True,
            kept=None if header.kept is None else Needs.from_json(header.kept),
        )
        reader.finish()
        return block


def completed(blocks: Sequence[Block], wanted: NeedsByDataset) -> list[Block]:
    """The blocks with all that is wanted, in their order.

    Where something was left out, all tuples of the same messages are read again. Maintain calls
    this before it adds blocks: a synopsis may have been created after ingest made them.
    """
    lacking = {b.read_again for b in blocks if _lacks(b, wanted)}
    whole = [b for b in blocks if b.read_again not in lacking]
    for read_again in lacking:
        assert read_again is not None, "a block lacks what is needed, and cannot be read again"
        whole += read_again()
    return sorted(whole, key=lambda block: block.order)


def _lacks(block: Block, wanted: NeedsByDataset) -> bool:
    if block.dataset == UNREAD:
        return any(wanted.get(dataset) is not None for dataset in block.streams)
    return block.lacks(wanted.of(block.dataset))


def first_words(texts: Texts) -> NDArray[np.uint64]:
    """The first word of each text's hash, which routes."""
    return np.ascontiguousarray(hash_texts(texts)[:, 0])
