"""How the engine's worker and the process of a plug-in talk: frames over a socket.

A frame is its length and a bundle: a JSON object and byte strings. Arrays lie in shared memory
(`sde.plugins.region`); a frame says where.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

import orjson

from sde.wire.framing import FramingError, pack, unpack

_LENGTH = struct.Struct("<Q")
_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
LARGEST_FRAME = 512 << 20
_CHUNK = 1 << 20


class Garbled(Exception):
    """What came is no frame."""


def frame(head: dict[str, Any], parts: Sequence[bytes] = ()) -> bytes:
    body = pack([orjson.dumps(head, option=_JSON), *parts])
    return _LENGTH.pack(len(body)) + body


def send(link: socket.socket, data: bytes, deadline: float | None = None) -> None:
    _limit(link, deadline)
    link.sendall(data)


def receive(
    link: socket.socket, deadline: float | None = None
) -> tuple[dict[str, Any], list[bytes]]:
    """The next frame; EOFError if the other side is gone, TimeoutError after the deadline."""
    (length,) = _LENGTH.unpack(_exactly(link, _LENGTH.size, deadline))
    if length > LARGEST_FRAME:
        raise Garbled(f"a frame of {length} bytes")
    try:
        head, *parts = unpack(_exactly(link, length, deadline))
        told = orjson.loads(head)
    except (FramingError, ValueError) as error:
        raise Garbled(str(error)) from None
    if not isinstance(told, dict):
        raise Garbled("a frame without an object")
    return told, parts


def _exactly(link: socket.socket, count: int, deadline: float | None) -> bytes:
    """Memory grows with what comes, not with what was announced."""
    data = bytearray()
    while len(data) < count:
        _limit(link, deadline)
        chunk = link.recv(min(_CHUNK, count - len(data)))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def _limit(link: socket.socket, deadline: float | None) -> None:
    if deadline is not None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        link.settimeout(left)
