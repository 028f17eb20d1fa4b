"""A store's whole content as compressed chunks, and back: how a shard rests in the state store.

The first chunk describes the arrays; each other chunk holds pieces of arrays and blobs, up to a
megabyte of them. Of a piece that is all zero nothing but its place is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from sde.storage.store import Store
from sde.wire.framing import pack, unpack

FORMAT = 3
_READABLE = (2, FORMAT)  # in the second each chunk has one piece
_PIECE = 1 << 20


class Content(Protocol):
    """What can be dumped: a store, or a part of one."""

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]: ...
    def blobs(self) -> Iterator[tuple[str, bytes]]: ...


def dump(store: Content, skip: int = 0) -> Iterator[bytes]:
    """The chunks from number `skip` on; the number of a chunk depends on the sizes alone.

    So a snapshot can be written over several batches, some chunks in each, from a copy that nobody
    changes.
    """
    arrays = list(store.arrays())
    if skip == 0:
        specs = [[n, a.dtype.str, list(a.shape)] for n, a in arrays]
        yield pack([orjson.dumps({"format": FORMAT, "arrays": specs})])
    pieces = itertools.chain(_pieces_of_arrays(arrays), _pieces_of_blobs(store))
    for number, together in enumerate(_filled(pieces), start=1):
        if number >= skip:
            codec = pa.Codec("lz4")
            yield pack([part for about, piece in together for part in _packed(about, piece, codec)])


Piece = tuple[dict[str, object], NDArray[np.uint8]]  # where it belongs, and its bytes


def _pieces_of_arrays(arrays: list[tuple[str, NDArray[Any]]]) -> Iterator[Piece]:
    for which, (_, array) in enumerate(arrays):
        flat = array.reshape(-1).view(np.uint8)
        for at in range(0, len(flat), _PIECE):
            yield {"array": which, "at": at}, flat[at : at + _PIECE]


def _pieces_of_blobs(store: Content) -> Iterator[Piece]:
    for name, blob in store.blobs():
        data = np.frombuffer(blob, np.uint8)
        for at in range(0, max(1, len(data)), _PIECE):
            yield {"blob": name}, data[at : at + _PIECE]


def _filled(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Pieces that make a chunk together."""
    together: list[Piece] = []
    size = 0
    for piece in pieces:
        if together and size + len(piece[1]) > _PIECE:
            yield together
            together, size = [], 0
        together.append(piece)
        size += len(piece[1])
    if together:
        yield together


def _packed(
    about: dict[str, object], piece: NDArray[np.uint8], codec: pa.Codec
) -> tuple[bytes, bytes]:
    if not piece.any():
        piece = piece[:0] if "array" in about else piece
    head = orjson.dumps({**about, "size": len(piece)})
    return head, codec.compress(piece, asbytes=True) if len(piece) else b""


def load(store: Store, chunks: Iterable[bytes]) -> None:
    """Fill an empty store with what `dump` wrote; ValueError if that has another format.

    >>> from sde.storage.store import MemoryStore
    >>> one, two = MemoryStore(), MemoryStore()
    >>> one.array("bank.tuples", np.int64, (), 4)[2] = 7
    >>> load(two, dump(one))
    >>> two.array("bank.tuples", np.int64, (), 4).tolist()
    [0, 0, 7, 0]
    """
    codec = pa.Codec("lz4")
    chunks = iter(chunks)
    described = orjson.loads(unpack(next(chunks))[0])
    if described["format"] not in _READABLE:
        raise ValueError(
            f"the snapshot has format {described['format']}, this version reads {FORMAT}"
        )
    arrays = [
        store.array(name, dtype, tuple(shape[1:]), shape[0]).reshape(-1).view(np.uint8)
        for name, dtype, shape in described["arrays"]
    ]
    for head, data in itertools.chain.from_iterable(map(_unpacked, chunks)):
        about = orjson.loads(head)
        raw = codec.decompress(data, about["size"], asbytes=True) if about["size"] else b""
        if "blob" in about:
            store.append_blob(about["blob"], raw)
        elif raw:
            piece = np.frombuffer(raw, np.uint8)
            arrays[about["array"]][about["at"] : about["at"] + len(piece)] = piece


def _unpacked(chunk: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The head and the data of each piece."""
    parts = unpack(chunk)
    return zip(parts[::2], parts[1::2], strict=True)
