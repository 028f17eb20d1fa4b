"""A shard's durable form: a snapshot plus a log of what was applied since.

The truth rests in a key-value store that commits with the micro-batch (`Backing`, Spark's state
store in service); the arena is a cache of it. A batch appends one log entry. When the log has
outgrown the snapshot by a set factor, or has too many entries, the shard takes a new snapshot:

  * it copies its arrays aside, which takes a moment, and goes on;
  * each batch then writes some chunks of the copy to the store, and drops some entries that are
    needed no more, so that no batch waits for a whole snapshot;
  * when the last chunk is written the new snapshot counts and the old one goes, piece by piece.

If the copy gets lost meanwhile (another host, a crash) that snapshot is given up; the old one and
the log are still there. Shards take turns.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from sde.limits import StateLimits
from sde.shard.shard import Shard
from sde.storage.arena import Arena, shard_lock
from sde.storage.chunks import dump, load
from sde.storage.store import Store

FORMAT = 2
_SMALLEST_LOG = 32 << 20  # bytes a log may have however small the snapshot is: a second of replay
_MOST_ENTRIES = 500  # of a log, however small they are: each costs time when it is replayed
_CHUNK_BYTES = 8 << 20  # of a new snapshot that a batch writes, before it stops
_DROPS = 200  # old entries or chunks that a batch drops

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


OpenShard = Callable[[int, int, Store, StateLimits], Shard]  # its number, of how many, ...


@dataclass(frozen=True, slots=True)
class ShardCode:
    """How the stage that works on shards makes one, and does again what a log entry says."""

    open: OpenShard
    replay: Callable[[Shard, bytes], None]


@dataclass(frozen=True, slots=True)
class Head:
    """What the rest means. `token` names this version of the shard.

    Entries from `oldest_entry` on and chunks from `oldest_chunk` on are in the store; those from
    `first_entry` to `next_entry` and from `first_chunk` to `end_chunk` count. A snapshot that is
    being written has the chunks from `end_chunk` to `next_chunk` and replaces entries before
    `copied_at`.
    """

    token: str
    of: int
    oldest_entry: int = 0
    first_entry: int = 0
    next_entry: int = 0
    log_bytes: int = 0
    oldest_chunk: int = 0
    first_chunk: int = 0
    end_chunk: int = 0
    next_chunk: int = 0
    snapshot_bytes: int = 0
    copied_at: int | None = None  # while a snapshot is being written
    copy: str = ""  # the token of what was copied
    copied_bytes: int = 0  # of its chunks so far
    copied_log_bytes: int = 0  # of the log when it was copied
    format: int = FORMAT


def batch_of(token: str) -> int:
    """The batch that made a version; -1 for one of past releases, whose tokens do not say it.

    >>> batch_of("17-0f3a"), batch_of("9e107d9d372bb6826bd81d3542a419d6")
    (17, -1)
    """
    batch, dash, _ = token.partition("-")
    return int(batch) if dash else -1


def new_token(batch: int, unique: str) -> str:
    """A name for the version of a shard that a batch makes."""
    return f"{batch}-{unique}"


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
        code: ShardCode,
        new_token: Callable[[], str],
        compact_factor: float = 1.0,
    ) -> None:
        self._folder, self._number, self._of = folder, number, of
        self._limits, self._backing, self._code = limits, backing, code
        self._new_token, self._factor = new_token, compact_factor
        self.rebuilt = False  # the arena, when the shard was opened

    @contextmanager
    def opened(self) -> Iterator[Shard]:
        """The shard, locked; leave with `commit`, else the arena is worth nothing."""
        with shard_lock(self._folder):
            head = self._read_head()
            current = self._at_hand(head) or self._open(head)
            current.arena.begin()
            self._head, self._current = head or Head("", self._of), current
            yield current.shard

    def commit(self, entry: bytes, batch: int) -> None:
        """Append to the log, go on with a snapshot if it is time, declare the arena good."""
        head = self._head
        if entry:
            self._backing.write_entry(head.next_entry, entry)
            head = replace(
                head, next_entry=head.next_entry + 1, log_bytes=head.log_bytes + len(entry)
            )
        if head.copied_at is None and self._should_compact(head, batch):
            head = self._copy_aside(head)
        elif head.copied_at is not None:
            head = self._write_chunks(head)
        head = self._drop_some(head)
        head = replace(head, token=self._new_token())
        self._backing.write_head(asdict(head))
        self._head = head
        self._current.arena.finish(head.token)
        self._current.token = head.token
        _open_shards[self._folder] = self._current

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of the log and of the snapshot that count, as the last commit left them."""
        return self._head.log_bytes, self._head.snapshot_bytes

    # -- opening -------------------------------------------------------------------------------

    def _read_head(self) -> Head | None:
        record = self._backing.read_head()
        if record is None:
            return None
        if record.get("format") != FORMAT:
            raise StateFormatError(
                f"the checkpoint has state format {record.get('format')}, this version reads "
                f"{FORMAT}: start with a new checkpoint or use the version that wrote it"
            )
        head = Head(**record)  # type: ignore[arg-type]
        if head.of != self._of:
            raise StateFormatError(
                f"the checkpoint was made with shards={head.of}, now shards={self._of}: the "
                "number of shards is fixed for the life of a checkpoint; set it back"
            )
        return head

    def _at_hand(self, head: Head | None) -> _Open | None:
        """The shard as this process knows it, brought up to date; None if it does not."""
        current = _open_shards.pop(self._folder, None)
        if current is None or head is None or not current.arena.holds(head.token):
            return None
        if current.token != head.token:
            current.arena.refresh()
            if not current.shard.refresh():
                return None
        return current

    def _open(self, head: Head | None) -> _Open:
        arena = Arena(self._folder)
        if head is not None and arena.holds(head.token):
            return _Open(head.token, self._shard(arena), arena)
        arena.clear()
        arena.begin()
        self.rebuilt = head is not None
        if head is not None:
            _log.info("shard %d: building the arena again from the state store", self._number)
            if head.end_chunk > head.first_chunk:
                load(arena, map(self._backing.read_chunk, range(head.first_chunk, head.end_chunk)))
        shard = self._shard(arena)
        for number in range(head.first_entry, head.next_entry) if head else ():
            self._code.replay(shard, self._backing.read_entry(number))
        return _Open("", shard, arena)

    def _shard(self, arena: Arena) -> Shard:
        return self._code.open(self._number, self._of, arena, self._limits)

    # -- a new snapshot --------------------------------------------------------------------------

    def _should_compact(self, head: Head, batch: int) -> bool:
        limit = max(_SMALLEST_LOG, self._factor * head.snapshot_bytes)
        fill = max(head.log_bytes / limit, (head.next_entry - head.first_entry) / _MOST_ENTRIES)
        my_turn = batch % self._of == self._number
        return fill > (1 if my_turn else 2)

    @property
    def _copy(self) -> Path:
        return self._folder.with_name(f"{self._folder.name}-copy")

    def _copy_aside(self, head: Head) -> Head:
        name = self._new_token()
        shutil.rmtree(self._copy, ignore_errors=True)
        self._current.arena.copy_to(self._copy)
        Arena(self._copy).finish(name)
        return replace(
            head,
            copied_at=head.next_entry,
            copy=name,
            copied_bytes=0,
            copied_log_bytes=head.log_bytes,
            next_chunk=head.end_chunk,
        )

    def _write_chunks(self, head: Head) -> Head:
        copy = Arena(self._copy)
        if not copy.holds(head.copy):
            _log.info("shard %d: the copy for a snapshot is gone; it is given up", self._number)
            return replace(self._forget_chunks(head), copied_at=None)
        size = 0
        for chunk in dump(copy, skip=head.next_chunk - head.end_chunk):
            self._backing.write_chunk(head.next_chunk, chunk)
            size += len(chunk)
            head = replace(
                head, next_chunk=head.next_chunk + 1, copied_bytes=head.copied_bytes + len(chunk)
            )
            if size >= _CHUNK_BYTES:
                return head
        shutil.rmtree(self._copy, ignore_errors=True)
        assert head.copied_at is not None
        return replace(
            head,
            first_entry=head.copied_at,
            log_bytes=head.log_bytes - head.copied_log_bytes,
            first_chunk=head.end_chunk,
            end_chunk=head.next_chunk,
            snapshot_bytes=head.copied_bytes,
            copied_at=None,
        )

    def _forget_chunks(self, head: Head) -> Head:
        for number in range(head.end_chunk, head.next_chunk):
            self._backing.drop_chunk(number)
        return replace(head, next_chunk=head.end_chunk)

    def _drop_some(self, head: Head) -> Head:
        entries = min(head.first_entry, head.oldest_entry + _DROPS)
        for number in range(head.oldest_entry, entries):
            self._backing.drop_entry(number)
        chunks = min(head.first_chunk, head.oldest_chunk + _DROPS)
        for number in range(head.oldest_chunk, chunks):
            self._backing.drop_chunk(number)
        return replace(head, oldest_entry=entries, oldest_chunk=chunks)
