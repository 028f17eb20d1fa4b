"""A store's whole content as compressed chunks, and back: how a shard rests in the state store.

The first chunk describes the arrays; each other chunk holds a piece of one array or of one blob.
A piece that is all zero is an empty chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from sde.storage.store import Store
from sde.wire.framing import pack, unpack

FORMAT = 2
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
    number = 0
    if skip == 0:
        specs = [[n, a.dtype.str, list(a.shape)] for n, a in arrays]
        yield pack([orjson.dumps({"format": FORMAT, "arrays": specs})])
    number += 1
    for which, (_, array) in enumerate(arrays):
        flat = array.reshape(-1).view(np.uint8)
        for at in range(0, len(flat), _PIECE):
            if number >= skip:
                yield _chunk({"array": which, "at": at}, flat[at : at + _PIECE])
            number += 1
    for name, blob in store.blobs():
        data = np.frombuffer(blob, np.uint8)
        for at in range(0, max(1, len(data)), _PIECE):
            if number >= skip:
                yield _chunk({"blob": name}, data[at : at + _PIECE])
            number += 1


def _chunk(about: dict[str, object], piece: NDArray[np.uint8]) -> bytes:
    if not piece.any():
        piece = piece[:0] if "array" in about else piece
    head = orjson.dumps({**about, "size": len(piece)})
    return pack([head, pa.Codec("lz4").compress(piece, asbytes=True) if len(piece) else b""])


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
    if described["format"] != FORMAT:
        raise ValueError(
            f"the snapshot has format {described['format']}, this version reads {FORMAT}"
        )
    arrays = [
        store.array(name, dtype, tuple(shape[1:]), shape[0]).reshape(-1).view(np.uint8)
        for name, dtype, shape in described["arrays"]
    ]
    for chunk in chunks:
        head, data = unpack(chunk)
        about = orjson.loads(head)
        raw = codec.decompress(data, about["size"], asbytes=True) if about["size"] else b""
        if "blob" in about:
            store.append_blob(about["blob"], raw)
        elif raw:
            piece = np.frombuffer(raw, np.uint8)
            arrays[about["array"]][about["at"] : about["at"] + len(piece)] = piece
