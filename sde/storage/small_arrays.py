"""The small arrays of a group in one file: a shard with many synopses has thousands of them.

    head | array | array | directory | array | ...      each where there was room

The directory says where each array is. An array that grows moves to the end of the file, and so
does the directory. What they leave is used by nobody until the group is dropped; it is less than
what is in use. The head has the version of the directory, so that other processes see a change.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from sde.storage.array_spec import ArraySpec

LARGEST = 32 << 10  # bytes of a small array
_VERSION, _END, _DIRECTORY, _ROOM, _LENGTH = range(5)  # numbers of the head
_UNIT = 64  # bytes: the head has as many, and all else begins at a multiple of it
_PAGE = 4096
_AHEAD = 16  # a part of the file is taken beside what is needed, so that it rarely grows


class Replaced(Exception):
    """The file is not the one that was opened."""


_Place = tuple[int, int]  # where an array begins, and how many rows there is room for


class SmallArrays:
    """`sde.storage.arena` makes one for a group, `sde.storage.arena_view` one with `is_private`:
    what is written to its arrays is seen by nobody else.

    FileNotFoundError if there is no such file. What changes it is for the holder of the shard's
    lock.
    """

    def __init__(self, path: str, *, is_private: bool = False) -> None:
        self._path, self._is_private = path, is_private
        self._map_file()
        self._version, _, at, _, length = self._head.tolist()
        listed = orjson.loads(self._map[at : at + length]) if length else {}
        self._places: dict[str, _Place] = {key: (at, rows) for key, (at, rows) in listed.items()}

    @classmethod
    def made(cls, path: str) -> Self:
        """The file, which is made if there is none."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        with open(descriptor, "r+b", buffering=0) as file:
            if not os.fstat(descriptor).st_size:
                os.posix_fallocate(descriptor, 0, _PAGE)
                file.write(np.array([0, _UNIT, 0, 0, 0], np.int64).tobytes())
        return cls(path)

    def _map_file(self) -> None:
        with open(self._path, "rb" if self._is_private else "r+b", buffering=0) as file:
            found = os.fstat(file.fileno())
            self._inode, self._size = found.st_ino, found.st_size
            access = mmap.ACCESS_COPY if self._is_private else mmap.ACCESS_WRITE
            self._map = mmap.mmap(file.fileno(), self._size, access=access)
            # Pages of a private map that were written to do not show what others change.
            shared = mmap.mmap(file.fileno(), _UNIT, access=mmap.ACCESS_READ)
        self._head = np.frombuffer(shared, np.int64, 5)

    @property
    def is_current(self) -> bool:
        """Whether nobody else has replaced the file, or changed where arrays are."""
        return self._is_there() and int(self._head[_VERSION]) == self._version

    def _is_there(self) -> bool:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return False
        return (found.st_ino, found.st_size) == (self._inode, self._size)

    def specs(self) -> Iterator[ArraySpec]:
        return map(ArraySpec.of_key, self._places)

    def rows(self, spec: ArraySpec) -> int:
        """How many rows of an array there is room for; 0 if it is not here."""
        return self._places.get(spec.key, (0, 0))[1]

    def array(self, spec: ArraySpec) -> NDArray[Any]:
        """The array, which is here, with all the rows that there is room for."""
        at, rows = self._places[spec.key]
        flat = np.frombuffer(self._map, spec.dtype, rows * math.prod(spec.row), at)
        return flat.reshape(rows, *spec.row)

    def make_room(self, spec: ArraySpec, rows: int) -> NDArray[Any]:
        """The array with room for so many rows; it is made, or moves. New rows are zero."""
        old = self.array(spec) if spec.key in self._places else None
        self._places[spec.key] = self._take(rows * spec.row_bytes), rows
        self._write_directory()
        new = self.array(spec)
        if old is not None:
            new[: len(old)] = old
        return new

    def remove(self, spec: ArraySpec) -> None:
        del self._places[spec.key]
        self._write_directory()

    def _take(self, size: int) -> int:
        """Where so many bytes are that nobody has used; they are zero.

        Disk is taken beforehand: a page that finds no room when it is touched would kill the
        process.
        """
        if not self._is_there():
            raise Replaced(self._path)
        head = self._writable_head()
        at = int(head[_END])
        end = at + -(-size // _UNIT) * _UNIT
        if end > self._size:
            size = -(-max(end, self._size + self._size // _AHEAD) // _PAGE) * _PAGE
            with open(self._path, "r+b", buffering=0) as file:
                os.posix_fallocate(file.fileno(), 0, size)
            self._map_file()
        self._writable_head()[_END] = end
        return at

    def _write_directory(self) -> None:
        text = orjson.dumps(self._places)
        if len(text) > self._head[_ROOM]:
            room = 2 * len(text)
            self._writable_head()[[_DIRECTORY, _ROOM]] = self._take(room), room
        head = self._writable_head()
        at = int(head[_DIRECTORY])
        self._map[at : at + len(text)] = text
        head[_LENGTH] = len(text)
        head[_VERSION] += 1
        self._version = int(head[_VERSION])

    def _writable_head(self) -> NDArray[np.int64]:
        return np.frombuffer(self._map, np.int64, 5)
