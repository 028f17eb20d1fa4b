"""The arena: a shard's arrays in memory-mapped files, shared by every Python worker of a host.

It is a cache of what the state store holds. Its header names the version it reflects (a token)
and whether somebody was in the middle of changing it. A token that is not the expected one, a
dirty header, missing or cut files, another boot of the machine or another format: the arena is
thrown away and built again from the state store. One lock for each shard keeps two tasks apart.

    shard-3/lock  birth  header  arrays/<group>/<array>@<dtype>@<row>  blobs/<blob>

A group is what a name has before its first dot: what is dropped together lies together.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sde.storage.store import capacity_for

_FORMAT = "sde-arena-2"
_CLEAN, _DIRTY = "clean", "dirty"
_STEP = 64 << 10  # bytes of disk that are taken at once, at least
_MOST_SENT = 1 << 30  # bytes at once
_AHEAD = 16  # a part of the rows in use is taken beside them


class ArenaError(Exception):
    """The arena's folder cannot be used: full disk, missing rights, or somebody else writes there.

    Says what to do. The batch is to be tried again: the arena is built anew for it.
    """


@contextmanager
def shard_lock(folder: Path) -> Iterator[None]:
    """Only one task at a time works on a shard; a second attempt waits for the first."""
    with _readable_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = open(folder / "lock", "wb")  # noqa: SIM115
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


class _Mapped(NamedTuple):
    """An array in memory, and the file behind it when it was mapped."""

    array: NDArray[Any]
    path: str
    inode: int
    size: int
    reserved: int  # rows whose disk space is taken


class Arena:
    """A `sde.storage.store.Store` in files. Hold `shard_lock` while using it.

    `sde.shard.keeper` calls `holds` and `refresh` when a batch begins, `begin` before the first
    change and `finish` with the new token at the end; it calls `clear` and builds the arena again
    where it does not hold what it should.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._maps: dict[str, _Mapped] = {}
        self._begun: int | None = None  # inode of the header that `begin` wrote
        self._birth = read_birth(self._folder)

    def refresh(self) -> None:
        """See what other processes changed: arrays that grew, came or went."""
        for name, mapped in list(self._maps.items()):
            try:
                file = os.stat(mapped.path)
            except OSError:
                file = None
            if file is None or (file.st_ino, file.st_size) != (mapped.inode, mapped.size):
                del self._maps[name]

    # -- validity ---------------------------------------------------------------------------------

    def holds(self, token: str) -> bool:
        """Whether the arena reflects exactly the version `token`, and is the one that was opened.

        Of one that was built again meanwhile, what this process knows may never have happened.
        """
        if read_birth(self._folder) != self._birth:
            return False
        try:
            header = (self._folder / "header").read_text()
            return header == _header(_CLEAN, token) + self._inventory()
        except (OSError, UnicodeDecodeError):
            return False

    def _inventory(self) -> str:
        """How many array files there are and their bytes: so that lost or cut ones are noticed."""
        files = size = 0
        with suppress(FileNotFoundError):
            for group in os.scandir(self._folder / "arrays"):
                for file in os.scandir(group):
                    files, size = files + 1, size + file.stat().st_size
        return f"{files} files, {size} bytes\n"

    def begin(self) -> None:
        """From here until `finish` the arena is worth nothing to others.

        A process that dies in between leaves a header that says so.
        """
        self._write("header", _header(_DIRTY, "").encode())
        self._begun = os.stat(self._folder / "header").st_ino

    def finish(self, token: str) -> None:
        """The arena now reflects the version `token`, which the state store gets as well."""
        if self._begun is not None and self._begun != _inode(self._folder / "header"):
            raise self._replaced("header")
        self._write("header", (_header(_CLEAN, token) + self._inventory()).encode())

    def clear(self) -> None:
        """Throw everything away."""
        self._maps.clear()
        (self._folder / "header").unlink(missing_ok=True)
        for name in ("arrays", "blobs"):
            shutil.rmtree(self._folder / name, ignore_errors=True)
        self._birth = uuid.uuid4().bytes
        self._write("birth", self._birth)

    def copy_to(self, folder: Path) -> None:
        """The same arrays and blobs in another folder."""
        with _readable_errors(folder):
            folder.mkdir(parents=True)
            for name in ("arrays", "blobs"):
                if (self._folder / name).exists():
                    _copy_files(f"{self._folder}/{name}", f"{folder}/{name}")

    # -- Store ------------------------------------------------------------------------------------

    def array(self, name: str, dtype: DTypeLike, row: tuple[int, ...], rows: int) -> NDArray[Any]:
        mapped = self._maps.get(name)
        if mapped is None or rows > mapped.reserved:
            mapped = self._maps[name] = self._map(name, np.dtype(dtype), row, rows, mapped)
        return mapped.array

    def _map(
        self,
        name: str,
        dtype: np.dtype[Any],
        row: tuple[int, ...],
        rows: int,
        known: _Mapped | None,
    ) -> _Mapped:
        """The array in a map with room for `rows`; `known` itself if its file need not grow.

        The file doubles. Disk is taken for the rows in use and some more, so that a burst that
        needs them one by one rarely comes here. It is taken beforehand: a page that finds no room
        when it is touched would kill the process.
        """
        row_bytes = bytes_of_row(dtype, row)
        path = array_path(self._folder, name, dtype, row)
        with _readable_errors(self._folder), open(_opened(path), "r+b", buffering=0) as file:
            found = os.fstat(file.fileno())
            if known is not None and (found.st_ino, found.st_size) != (
                known.inode,
                known.size,
            ):
                raise self._replaced(os.path.relpath(path, self._folder))
            capacity = capacity_for(rows, found.st_size // row_bytes)
            size = capacity * row_bytes
            if size > found.st_size:
                os.truncate(file.fileno(), size)
            ahead = max(rows // _AHEAD, _STEP // row_bytes) if rows else 0
            rows = min(rows + ahead, capacity)
            if rows * row_bytes > found.st_blocks * 512:
                os.posix_fallocate(file.fileno(), 0, rows * row_bytes)
            if known is not None and known.size == size:
                return known._replace(reserved=rows)
            if not size:
                return _Mapped(np.zeros((0, *row), dtype), path, found.st_ino, 0, 0)
            mapped = mmap.mmap(file.fileno(), size)
        array = np.frombuffer(mapped, dtype).reshape(capacity, *row)
        return _Mapped(array, path, found.st_ino, size, rows)

    def _replaced(self, name: str) -> ArenaError:
        return ArenaError(
            f"the arena folder {self._folder} was changed by somebody else during a batch "
            f"({name}): make sure that no other engine has the same arena_dir"
        )

    def drop(self, group: str) -> None:
        for name in [n for n in self._maps if n.partition(".")[0] == group]:
            del self._maps[name]
        shutil.rmtree(self._folder / "arrays" / group, ignore_errors=True)
        for path in (self._folder / "blobs").glob(f"{group}.*"):
            path.unlink()

    def read_blob(self, name: str, start: int = 0) -> bytes | None:
        return read_blob(self._folder, name, start)

    def write_blob(self, name: str, data: bytes) -> None:
        self._write(f"blobs/{name}", data)

    def append_blob(self, name: str, data: bytes) -> None:
        path = self._folder / "blobs" / name
        with _readable_errors(self._folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "ab") as file:
                file.write(data)

    def arrays(self, group: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
        for path in sorted((self._folder / "arrays").glob(f"{group or '*'}/*")):
            rest, dtype, row = path.name.rsplit("@", 2)
            name = f"{path.parent.name}.{rest}" if rest else path.parent.name
            yield name, self.array(name, dtype, tuple(map(int, filter(None, row.split("x")))), 0)

    def blobs(self, group: str = "") -> Iterator[tuple[str, bytes]]:
        for path in sorted((self._folder / "blobs").glob(f"{group}.*" if group else "*")):
            yield path.name, path.read_bytes()

    def _write(self, name: str, data: bytes) -> None:
        path = self._folder / name
        with _readable_errors(self._folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def array_path(folder: Path, name: str, dtype: np.dtype[Any], row: tuple[int, ...]) -> str:
    """The file of an array in the arena of that folder. A shard has thousands: no Path is made."""
    group, _, rest = name.partition(".")
    return f"{folder}/arrays/{group}/{rest}@{dtype.str}@{'x'.join(map(str, row))}"


def _opened(path: str) -> int:
    """The descriptor of a file for reading and writing, which is made if there is none."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, 0o666)


def _copy_files(source: str, target: str) -> None:
    """A folder with all that is in it. Nothing but the content counts, and there is much of it."""
    os.mkdir(target)
    for entry in os.scandir(source):
        to = f"{target}/{entry.name}"
        if entry.is_dir():
            _copy_files(entry.path, to)
            continue
        with open(entry.path, "rb", buffering=0) as old, open(to, "xb", buffering=0) as new:
            at = 0
            while sent := os.sendfile(new.fileno(), old.fileno(), at, _MOST_SENT):
                at += sent


def read_birth(folder: Path) -> bytes:
    """What `clear` wrote; nothing in an arena that never was built again."""
    try:
        return (folder / "birth").read_bytes()
    except OSError:
        return b""


def read_blob(folder: Path, name: str, start: int) -> bytes | None:
    """A blob of the arena of that folder, from a byte on; None if there is none."""
    try:
        with open(folder / "blobs" / name, "rb") as file:
            file.seek(start)
            return file.read()
    except FileNotFoundError:
        return None


def bytes_of_row(dtype: np.dtype[Any], row: tuple[int, ...]) -> int:
    return dtype.itemsize * int(np.prod(row, dtype=np.int64))


def token_at_rest(folder: Path) -> str | None:
    """The version that the arena of a folder reflects; None while it is worth nothing."""
    try:
        header = (folder / "header").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    token = header[3] if len(header) > 3 else ""
    return token if token and "\n".join([*header[:4], ""]) == _header(_CLEAN, token) else None


def _inode(path: Path) -> int | None:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


def _header(state: str, token: str) -> str:
    """A reboot may lose pages that were not written yet, so the boot is part of the version."""
    return f"{_FORMAT}\n{_boot()}\n{state}\n{token}\n"


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


@contextmanager
def _readable_errors(folder: Path) -> Iterator[None]:
    """Errors of the file system become an ArenaError that says what to do."""
    try:
        yield
    except OSError as error:
        raise ArenaError(
            f"the arena folder {folder} cannot be written ({error.strerror}): free some space, "
            "mend its permissions, or set arena_dir to another folder"
        ) from error
