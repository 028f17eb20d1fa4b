"""A store's whole content as compressed chunks, and back.

The first chunk describes the rest; each other chunk holds a piece of one array (all-zero pieces
are left out) or one blob.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import orjson
import pyarrow as pa

from sde.framing import pack, unpack
from sde.store import Store

FORMAT = 1
_PIECE = 1 << 20


def dump(store: Store) -> Iterator[bytes]:
    codec = pa.Codec("lz4")
    specs = [[n, a.dtype.str, list(a.shape)] for n, a in store.arrays()]
    yield pack([orjson.dumps({"format": FORMAT, "arrays": specs})])
    for number, (_, array) in enumerate(store.arrays()):
        flat = array.reshape(-1).view(np.uint8)
        for start in range(0, len(flat), _PIECE):
            piece = flat[start : start + _PIECE]
            if piece.any():
                head = orjson.dumps({"array": number, "at": start, "size": len(piece)})
                yield pack([head, codec.compress(piece, asbytes=True)])
    for name, blob in store.blobs():
        head = orjson.dumps({"blob": name, "size": len(blob)})
        yield pack([head, codec.compress(blob, asbytes=True)])


def load(store: Store, chunks: Iterable[bytes]) -> None:
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
            store.write_blob(about["blob"], raw)
        else:
            piece = np.frombuffer(raw, np.uint8)
            arrays[about["array"]][about["at"] : about["at"] + len(piece)] = piece
