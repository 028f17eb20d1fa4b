"""The arena: a shard's arrays in memory-mapped files, shared by every Python worker of a host.

It is a cache of what the state store holds. Its header names the version it reflects (a token)
and whether somebody was in the middle of changing it. A token that is not the expected one, a
dirty header, another boot of the machine or another format: the arena is thrown away and built
again from the state store. One lock for each shard keeps two tasks apart.

    shard-3/lock  header  manifest.json  a/<array>  b/<blob>
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sde.store import capacity_for

_FORMAT = "sde-arena-1"
_CLEAN, _DIRTY = "clean", "dirty"


class ArenaError(Exception):
    """The arena's folder cannot be used: full disk, missing rights. Says what to do."""


@contextmanager
def shard_lock(folder: Path) -> Iterator[None]:
    """Only one task at a time works on a shard; a second attempt waits for the first."""
    with _readable_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = open(folder / "lock", "wb")  # noqa: SIM115
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


class Arena:
    """A `sde.store.Store` in files. Hold `shard_lock` while using it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._maps: dict[str, NDArray[Any]] = {}
        self._manifest: dict[str, Any] = {}
        manifest = folder / "manifest.json"
        if manifest.exists():
            self._manifest = json.loads(manifest.read_bytes())

    # -- validity ---------------------------------------------------------------------------------

    def holds(self, token: str) -> bool:
        """Whether the arena reflects exactly the version `token`."""
        try:
            return (self._folder / "header").read_text() == _header(_CLEAN, token)
        except (OSError, UnicodeDecodeError):
            return False

    def begin(self) -> None:
        """From here until `finish` the arena is worth nothing to others."""
        self._write("header", _header(_DIRTY, "").encode())

    def finish(self, token: str) -> None:
        self._write("header", _header(_CLEAN, token).encode())

    def clear(self) -> None:
        """Throw everything away."""
        self._maps.clear()
        self._manifest.clear()
        for name in ("header", "manifest.json"):
            (self._folder / name).unlink(missing_ok=True)
        for name in ("a", "b"):
            shutil.rmtree(self._folder / name, ignore_errors=True)

    # -- Store ------------------------------------------------------------------------------------

    def array(self, name: str, dtype: DTypeLike, row: tuple[int, ...], rows: int) -> NDArray[Any]:
        held = self._maps.get(name)
        if held is None or rows > len(held):
            spec = [np.dtype(dtype).str, list(row)]
            if self._manifest.get(name) != spec:
                self._manifest[name] = spec
                self._write("manifest.json", json.dumps(self._manifest).encode())
            held = self._maps[name] = self._map(name, np.dtype(dtype), row, rows)
        return held

    def _map(
        self, name: str, dtype: np.dtype[Any], row: tuple[int, ...], rows: int
    ) -> NDArray[Any]:
        row_bytes = dtype.itemsize * int(np.prod(row, dtype=np.int64))
        path = self._folder / "a" / name
        with _readable_errors(self._folder):
            path.parent.mkdir(exist_ok=True)
            with open(path, "a+b") as file:
                size = os.fstat(file.fileno()).st_size
                capacity = capacity_for(rows, size // row_bytes)
                if capacity == 0:
                    return np.zeros((0, *row), dtype)
                if capacity * row_bytes != size:
                    os.truncate(file.fileno(), capacity * row_bytes)
                mapped = mmap.mmap(file.fileno(), capacity * row_bytes)
        return np.frombuffer(mapped, dtype).reshape(capacity, *row)

    def drop(self, prefix: str) -> None:
        for name in [n for n in self._manifest if n.startswith(prefix)]:
            del self._manifest[name]
            self._maps.pop(name, None)
            (self._folder / "a" / name).unlink(missing_ok=True)
        self._write("manifest.json", json.dumps(self._manifest).encode())
        for path in (self._folder / "b").glob(f"{prefix}*"):
            path.unlink()

    def read_blob(self, name: str) -> bytes | None:
        path = self._folder / "b" / name
        return path.read_bytes() if path.exists() else None

    def write_blob(self, name: str, data: bytes) -> None:
        self._write(f"b/{name}", data)

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        for name, (dtype, row) in sorted(self._manifest.items()):
            yield name, self.array(name, dtype, tuple(row), 0)

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        for path in sorted((self._folder / "b").glob("*")):
            yield path.name, path.read_bytes()

    def _write(self, name: str, data: bytes) -> None:
        path = self._folder / name
        with _readable_errors(self._folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def _header(state: str, token: str) -> str:
    """A reboot may lose pages that were not written yet, so the boot is part of the version."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = "unknown"
    return f"{_FORMAT}\n{boot}\n{state}\n{token}\n"


@contextmanager
def _readable_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArenaError(
            f"the arena folder {folder} cannot be written ({error.strerror}): free some space, "
            "mend its permissions, or set arena_dir to another folder"
        ) from error
