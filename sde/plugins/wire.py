"""How the engine's worker and the process of a plug-in talk: frames over a socket.

A frame is its length and a bundle: a record of `sde.plugins.calls` as JSON, and byte strings.
Either end may have been taken over by a plug-in that misbehaves, so a frame has a largest size and
a record is checked against its declaration when it is read.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from sde.plugins.calls import Envelope, Reply, to_bytes
from sde.wire.framing import pack, unpack

T = TypeVar("T")
_LENGTH = struct.Struct("<Q")
LARGEST_FRAME = 512 << 20
_CHUNK = 1 << 20


class Garbled(Exception):
    """The bytes that arrived are no frame, or not the record that is expected."""


def frame(record: Envelope | Reply, parts: Sequence[bytes] = ()) -> bytes:
    """A record and the byte strings that go with it, ready for `send`."""
    body = pack([to_bytes(record), *parts])
    return _LENGTH.pack(len(body)) + body


def send(
    link: socket.socket, data: bytes, deadline: float | None = None, handle: int | None = None
) -> None:
    """TimeoutError after the deadline, which is a time of `time.monotonic`.

    `handle`: a file descriptor that goes with the data.
    """
    _limit(link, deadline)
    if handle is not None:
        sent = socket.send_fds(link, [data], [handle])
        data = data[sent:]
    link.sendall(data)


def receive(
    link: socket.socket,
    decoder: msgspec.json.Decoder[T],
    deadline: float | None = None,
    on_handle: Callable[[int], None] | None = None,
) -> tuple[T, list[bytes]]:
    """The next frame: its record and the byte strings beside it.

    `on_handle` gets a file descriptor that came with it; without one none is taken. EOFError if the
    other side is gone, TimeoutError after the deadline, Garbled for anything that is no such frame.
    """
    if on_handle is None:
        first = _exactly(link, _LENGTH.size, deadline)
    else:
        first = _first_bytes(link, deadline, on_handle)
    (length,) = _LENGTH.unpack(first)
    if length > LARGEST_FRAME:
        raise Garbled(f"a frame of {length} bytes")
    try:
        head, *parts = unpack(_exactly(link, length, deadline))
        return decoder.decode(head), parts
    except (ValueError, RecursionError) as error:  # framing, JSON, another record, nesting
        raise Garbled(str(error)) from None


def _first_bytes(
    link: socket.socket, deadline: float | None, on_handle: Callable[[int], None]
) -> bytes:
    """The length of a frame; a descriptor comes with its first bytes."""
    _limit(link, deadline)
    first, handles, _, _ = socket.recv_fds(link, _LENGTH.size, 1)
    for handle in handles:
        on_handle(handle)
    if not first:
        raise EOFError
    return first + _exactly(link, _LENGTH.size - len(first), deadline)


def _exactly(link: socket.socket, count: int, deadline: float | None) -> bytes:
    """Memory grows with the bytes that arrive, not with the length that was announced."""
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
