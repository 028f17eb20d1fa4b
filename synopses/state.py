"""The bytes of a synopsis: self-describing, versioned, and refused when anything is off.

magic "SYNO" | format u16 | kind length u8 | parameters length u32 | payload length u64
kind | parameters as JSON | payload | CRC-32 of everything before
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from typing import Any

from synopses.errors import StateError

_HEADER = struct.Struct("<4sHBIQ")
_CHECKSUM = struct.Struct("<I")
_MAGIC = b"SYNO"


@dataclass(frozen=True, slots=True)
class State:
    kind: str
    format: int
    params: dict[str, Any]
    payload: memoryview


def pack(kind: str, format_version: int, params: dict[str, Any], payload: bytes) -> bytes:
    name = kind.encode()
    described = json.dumps(params, sort_keys=True, separators=(",", ":")).encode()
    head = _HEADER.pack(_MAGIC, format_version, len(name), len(described), len(payload))
    body = b"".join([head, name, described, payload])
    return body + _CHECKSUM.pack(zlib.crc32(body))


def unpack(data: bytes) -> State:
    """The parts of `data`; StateError if they are not exactly what `pack` wrote."""
    if len(data) < _HEADER.size + _CHECKSUM.size:
        raise StateError(f"{len(data)} bytes are too few for a synopsis")
    magic, format_version, n_kind, n_params, n_payload = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise StateError(f"these bytes start with {magic!r}, a synopsis with {_MAGIC!r}")
    expected = _HEADER.size + n_kind + n_params + n_payload + _CHECKSUM.size
    if len(data) != expected:
        raise StateError(f"the header promises {expected} bytes, there are {len(data)}")
    body = memoryview(data)[: -_CHECKSUM.size]
    if _CHECKSUM.unpack_from(data, len(body))[0] != zlib.crc32(body):
        raise StateError("the checksum does not match: the bytes are damaged")
    at = _HEADER.size
    try:
        kind = bytes(body[at : at + n_kind]).decode()
        params = json.loads(bytes(body[at + n_kind : at + n_kind + n_params]))
    except (ValueError, RecursionError) as error:
        raise StateError(f"kind and parameters cannot be read: {error}") from None
    if not isinstance(params, dict):
        raise StateError(f"the parameters are {type(params).__name__}, expected an object")
    return State(kind, format_version, params, body[at + n_kind + n_params :])
