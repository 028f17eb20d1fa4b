"""A shard that another process works on, looked at between two of its batches."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sde.limits import StateLimits
from sde.registry.registry import Instance
from sde.shard.keeper import OpenShard, batch_of
from sde.shard.shard import Shard
from sde.storage.arena import read_birth, token_at_rest
from sde.storage.arena_view import ArenaView, Unreadable


class NotAtRest(Unreadable):
    """A batch is at work, or died at it: later it can be looked at."""


class ShardReader:
    """`folder` is that of the shard's arena; `open` makes a shard, as for `ShardKeeper`.

    The lock that it takes is shared with other readers, and keeps the shard's next batch waiting:
    hold it for as long as copying takes. `batch` is the one that the shard reflects.
    """

    def __init__(
        self, folder: Path, number: int, of: int, limits: StateLimits, open: OpenShard
    ) -> None:
        self._folder, self._number, self._of = folder, number, of
        self._limits, self._open = limits, open
        self._token = ""
        self._birth = b""
        self.last_seen: Shard | None = None  # as it was then
        self._mapped: set[str] = set()  # banks and layers whose arrays are those of this version
        self.batch = -1

    @contextmanager
    def at_rest(self) -> Iterator[Shard]:
        """The shard as its last batch left it; NotAtRest while a batch works on it.

        Its synopses are to be named to `prepare` before they are asked.
        """
        try:
            handle = os.open(self._folder / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise Unreadable(f"{self._folder}: no engine has worked here yet") from None
        with open(handle, "rb") as lock:
            if not _is_shared(lock.fileno()):
                raise NotAtRest(f"shard {self._number} is being changed")
            yield self._current()

    def prepare(self, shard: Shard, instances: Iterable[Instance]) -> None:
        """Look at the arrays of these synopses as they are now."""
        for instance in instances:
            if not {instance.bank, instance.layer} <= self._mapped:
                shard.remap(instance)
                self._mapped |= {instance.bank, instance.layer}

    def _current(self) -> Shard:
        token = token_at_rest(self._folder)
        if token is None:
            raise NotAtRest(f"shard {self._number} is not as its last batch left it")
        shard = self.last_seen
        if shard is None or token != self._token:
            birth = read_birth(self._folder)
            if shard is None or birth != self._birth or not shard.catch_up():
                shard = self._open(self._number, self._of, ArenaView(self._folder), self._limits)
            self.last_seen, self._token, self._birth = shard, token, birth
            self._mapped = set()
            self.batch = batch_of(token)
        return shard


def _is_shared(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
