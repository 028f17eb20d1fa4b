"""A shard's durable form: a snapshot plus a log of what was applied since.

The truth rests in a key-value store that commits with the micro-batch (`Backing`, Spark's state
store in service); the arena is a cache of it. A batch appends one log entry. When the log has
outgrown the snapshot by a set factor the shard writes a new snapshot; shards take turns, so that
not all of them do it in the same batch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from sde.arena import Arena, shard_lock
from sde.limits import StateLimits
from sde.shard import Shard
from sde.snapshot import dump, load
from sde.stages.maintain import replay

FORMAT = 1
_SMALLEST_LOG = 32 << 20  # bytes a log may have however small the snapshot is

_log = logging.getLogger(__name__)


class StateFormatError(Exception):
    """The durable state was written by another version or for another number of shards."""


class Backing(Protocol):
    """Where the durable form rests; all changes of a batch commit together."""

    def read_head(self) -> dict[str, object] | None: ...
    def write_head(self, head: dict[str, object]) -> None: ...
    def read_entry(self, number: int) -> bytes: ...
    def write_entry(self, number: int, entry: bytes) -> None: ...
    def drop_entry(self, number: int) -> None: ...
    def read_chunk(self, number: int) -> bytes: ...
    def write_chunk(self, number: int, chunk: bytes) -> None: ...
    def drop_chunk(self, number: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Head:
    """What the rest means. `token` names this version of the shard."""

    token: str
    of: int
    first_entry: int = 0
    next_entry: int = 0
    log_bytes: int = 0
    chunks: int = 0
    snapshot_bytes: int = 0
    format: int = FORMAT


@dataclass(slots=True)
class _Open:
    token: str
    shard: Shard
    arena: Arena


_open_shards: dict[Path, _Open] = {}  # of this process: saves opening them again


class ShardKeeper:
    """Opens a shard as the durable form says it is, and writes down what a batch changed."""

    def __init__(
        self,
        folder: Path,
        number: int,
        of: int,
        limits: StateLimits,
        backing: Backing,
        new_token: Callable[[], str],
        compact_factor: float = 1.0,
    ) -> None:
        self._folder, self._number, self._of = folder, number, of
        self._limits, self._backing = limits, backing
        self._new_token, self._factor = new_token, compact_factor

    @contextmanager
    def opened(self) -> Iterator[Shard]:
        """The shard, locked; leave with `commit`, else the arena is worth nothing."""
        with shard_lock(self._folder):
            head = self._read_head()
            held = _open_shards.pop(self._folder, None)
            if not (held and head and held.token == head.token and held.arena.holds(held.token)):
                held = self._open(head)
            held.arena.begin()
            self._head, self._held = head or Head("", self._of), held
            yield held.shard

    def commit(self, entry: bytes, batch: int) -> None:
        """Append to the log, compact if it is time, and declare the arena good."""
        head = self._head
        if entry:
            self._backing.write_entry(head.next_entry, entry)
            head = replace(
                head, next_entry=head.next_entry + 1, log_bytes=head.log_bytes + len(entry)
            )
        if self._should_compact(head, batch):
            head = self._compact(head)
        head = replace(head, token=self._new_token())
        self._backing.write_head(asdict(head))
        self._held.arena.finish(head.token)
        self._held.token = head.token
        _open_shards[self._folder] = self._held

    def _read_head(self) -> Head | None:
        held = self._backing.read_head()
        if held is None:
            return None
        if held.get("format") != FORMAT:
            raise StateFormatError(
                f"the checkpoint has state format {held.get('format')}, this version reads "
                f"{FORMAT}: start with a new checkpoint or use the version that wrote it"
            )
        head = Head(**held)  # type: ignore[arg-type]
        if head.of != self._of:
            raise StateFormatError(
                f"the checkpoint was made with shards={head.of}, now shards={self._of}: the "
                "number of shards is fixed for the life of a checkpoint; set it back"
            )
        return head

    def _open(self, head: Head | None) -> _Open:
        arena = Arena(self._folder)
        if head is not None and arena.holds(head.token):
            return _Open(head.token, self._shard(arena), arena)
        arena.clear()
        arena.begin()
        if head is not None:
            _log.info("shard %d: building the arena again from the state store", self._number)
            if head.chunks:
                load(arena, map(self._backing.read_chunk, range(head.chunks)))
        shard = self._shard(arena)
        for number in range(head.first_entry, head.next_entry) if head else ():
            replay(shard, self._backing.read_entry(number))
        return _Open("", shard, arena)

    def _shard(self, arena: Arena) -> Shard:
        return Shard(self._number, self._of, arena, self._limits)

    def _should_compact(self, head: Head, batch: int) -> bool:
        limit = max(_SMALLEST_LOG, self._factor * head.snapshot_bytes)
        my_turn = batch % self._of == self._number
        return head.log_bytes > (limit if my_turn else 2 * limit)

    def _compact(self, head: Head) -> Head:
        chunks = size = 0
        for chunk in dump(self._held.arena):
            self._backing.write_chunk(chunks, chunk)
            chunks, size = chunks + 1, size + len(chunk)
        for number in range(chunks, head.chunks):
            self._backing.drop_chunk(number)
        for number in range(head.first_entry, head.next_entry):
            self._backing.drop_entry(number)
        return replace(
            head, first_entry=head.next_entry, log_bytes=0, chunks=chunks, snapshot_bytes=size
        )
