"""The arena: a shard's arrays in memory-mapped files, shared by every Python worker of a host.

It is a cache of what the state store holds. Its header names the version it reflects (a token)
and whether somebody was in the middle of changing it. A token that is not the expected one, a
dirty header, missing or cut files, another boot of the machine or another format: the arena is
thrown away and built again from the state store. One lock for each shard keeps two tasks apart.

    shard-3/lock  birth  header  small/<group>  large/<group>/<array>@<dtype>@<row>  blobs/<blob>

A group is what a name has before its first dot: what is dropped together lies together. Its small
arrays share a file (`sde.storage.small_arrays`); one that outgrows it has a file of its own.
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

from sde.storage.array_spec import ArraySpec
from sde.storage.small_arrays import LARGEST, Replaced, SmallArrays
from sde.storage.store import capacity_for, group_of

_FORMAT = "sde-arena-3"
_CONTENT = ("small", "large", "blobs")
_CLEAN, _DIRTY = "clean", "dirty"
_FIRST = 256  # bytes of a small array that is new, if that is a row or more
_STEP = 64 << 10  # bytes of disk that are taken at once for a large one, at least
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
    """An array in memory, and the file of its own behind it when it was mapped, if it has one."""

    array: NDArray[Any]
    reserved: int  # rows whose disk space is taken
    path: str = ""
    inode: int = 0
    size: int = 0


class Arena:
    """A `sde.storage.store.Store` in files. Hold `shard_lock` while using it.

    `sde.shard.keeper` calls `holds` and `refresh` when a batch begins, `begin` before the first
    change and `finish` with the new token at the end; it calls `clear` and builds the arena again
    where it does not hold what it should.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._maps: dict[str, _Mapped] = {}
        self._small: dict[str, SmallArrays] = {}  # by group
        self._begun: int | None = None  # inode of the header that `begin` wrote
        self._birth = read_birth(self._folder)

    def refresh(self) -> None:
        """See what other processes changed: arrays that grew, came or went."""
        self._small = {group: each for group, each in self._small.items() if each.is_current}
        self._maps = {n: mapped for n, mapped in self._maps.items() if self._is_current(n, mapped)}

    def _is_current(self, name: str, mapped: _Mapped) -> bool:
        if not mapped.path:
            return len(mapped.array) > 0 and group_of(name) in self._small
        try:
            file = os.stat(mapped.path)
        except OSError:
            return False
        return (file.st_ino, file.st_size) == (mapped.inode, mapped.size)

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
        """How many files arrays have and their bytes: so that lost or cut ones are noticed."""
        folders = [f"{self._folder}/small"]
        with suppress(FileNotFoundError):
            folders += [group.path for group in os.scandir(self._folder / "large")]
        files = size = 0
        for folder in folders:
            with suppress(FileNotFoundError):
                for file in os.scandir(folder):
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
        self._small.clear()
        (self._folder / "header").unlink(missing_ok=True)
        for name in _CONTENT:
            shutil.rmtree(self._folder / name, ignore_errors=True)
        self._birth = uuid.uuid4().bytes
        self._write("birth", self._birth)

    def copy_to(self, folder: Path) -> None:
        """The same arrays and blobs in another folder."""
        with _readable_errors(folder):
            folder.mkdir(parents=True)
            for name in _CONTENT:
                if (self._folder / name).exists():
                    _copy_files(f"{self._folder}/{name}", f"{folder}/{name}")

    # -- Store ------------------------------------------------------------------------------------

    def array(self, name: str, dtype: DTypeLike, row: tuple[int, ...], rows: int) -> NDArray[Any]:
        mapped = self._maps.get(name)
        if mapped is None or rows > mapped.reserved:
            mapped = self._maps[name] = self._map(name, np.dtype(dtype), row, rows, mapped)
        return mapped.array

    def _map(
        self, name: str, dtype: DTypeLike, row: tuple[int, ...], rows: int, known: _Mapped | None
    ) -> _Mapped:
        """The array in a map with room for `rows`."""
        group, spec = ArraySpec.of(name, dtype, row)
        path = array_path(self._folder, group, spec)
        with _readable_errors(self._folder):
            small = self._small_arrays(group)
            room = 0 if small is None else small.rows(spec)
            if small is not None and room and rows <= room:
                return _Mapped(small.array(spec), room)
            if (known is not None and known.path) or (not room and os.path.exists(path)):
                return self._map_large(path, spec, rows, known)
            if not rows:
                return _Mapped(np.zeros((0, *row), spec.dtype), 0)
            wanted = max(rows, 2 * room, min(4, _FIRST // spec.row_bytes))
            try:
                if wanted * spec.row_bytes <= LARGEST:
                    small = small or self._make_small(group)
                    return _Mapped(small.make_room(spec, wanted), wanted)
                large = self._map_large(path, spec, rows, None)
                if small is not None and room:
                    large.array[:room] = small.array(spec)
                    small.remove(spec)
            except Replaced as error:
                raise self._replaced(os.path.relpath(str(error), self._folder)) from None
            return large

    def _small_arrays(self, group: str) -> SmallArrays | None:
        """The file of a group's small arrays, if there is one."""
        if group not in self._small:
            try:
                self._small[group] = SmallArrays(small_path(self._folder, group))
            except FileNotFoundError:
                return None
        return self._small[group]

    def _make_small(self, group: str) -> SmallArrays:
        path = small_path(self._folder, group)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return self._small.setdefault(group, SmallArrays.made(path))

    def _map_large(self, path: str, spec: ArraySpec, rows: int, known: _Mapped | None) -> _Mapped:
        """The array in its own file; `known` itself if the file need not grow.

        The file doubles. Disk is taken for the rows in use and some more, so that a burst that
        needs them one by one rarely comes here. It is taken beforehand: a page that finds no room
        when it is touched would kill the process.
        """
        with open(_opened(path), "r+b", buffering=0) as file:
            found = os.fstat(file.fileno())
            if known is not None and (found.st_ino, found.st_size) != (known.inode, known.size):
                raise self._replaced(os.path.relpath(path, self._folder))
            capacity = capacity_for(rows, found.st_size // spec.row_bytes)
            size = capacity * spec.row_bytes
            if size > found.st_size:
                os.truncate(file.fileno(), size)
            ahead = max(rows // _AHEAD, _STEP // spec.row_bytes) if rows else 0
            rows = min(rows + ahead, capacity)
            if rows * spec.row_bytes > found.st_blocks * 512:
                os.posix_fallocate(file.fileno(), 0, rows * spec.row_bytes)
            if known is not None and known.size == size:
                return known._replace(reserved=rows)
            mapped = mmap.mmap(file.fileno(), size)
        array = np.frombuffer(mapped, spec.dtype).reshape(capacity, *spec.row)
        return _Mapped(array, rows, path, found.st_ino, size)

    def _replaced(self, name: str) -> ArenaError:
        return ArenaError(
            f"the arena folder {self._folder} was changed by somebody else during a batch "
            f"({name}): make sure that no other engine has the same arena_dir"
        )

    def drop(self, group: str) -> None:
        for name in [n for n in self._maps if group_of(n) == group]:
            del self._maps[name]
        self._small.pop(group, None)
        with suppress(FileNotFoundError):
            os.unlink(small_path(self._folder, group))
        shutil.rmtree(self._folder / "large" / group, ignore_errors=True)
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
        for each in [group] if group else self._groups():
            small = self._small_arrays(each)
            specs = [] if small is None else [*small.specs()]
            with suppress(FileNotFoundError):
                specs += map(ArraySpec.of_key, os.listdir(self._folder / "large" / each))
            for spec in sorted(specs, key=lambda spec: spec.key):
                name = spec.name_in(each)
                yield name, self.array(name, spec.dtype, spec.row, 0)

    def _groups(self) -> list[str]:
        """All groups with arrays."""
        found: set[str] = set()
        for folder in ("small", "large"):
            with suppress(FileNotFoundError):
                found.update(os.listdir(self._folder / folder))
        return sorted(found)

    def blobs(self, group: str = "") -> Iterator[tuple[str, bytes]]:
        for path in sorted((self._folder / "blobs").glob(f"{group}.*" if group else "*")):
            yield path.name, path.read_bytes()

    def _write(self, name: str, data: bytes) -> None:
        path = self._folder / name
        with _readable_errors(self._folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def array_path(folder: Path, group: str, spec: ArraySpec) -> str:
    """Where a large array is in the arena of that folder; a text, as a shard has thousands."""
    return f"{folder}/large/{group}/{spec.key}"


def small_path(folder: Path, group: str) -> str:
    """Where the small arrays of a group are."""
    return f"{folder}/small/{group}"


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
