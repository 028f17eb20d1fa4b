"""What goes between a gateway and its lane, a process of `service.lane`, by pipes.

A frame is a length of four bytes and a list in MessagePack: questions there, answers back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

SIZE_BYTES = 4
_ORDER: Literal["big"] = "big"


class LaneQuestion(Struct, array_like=True, frozen=True):
    """`message` is a request of the wire; `batch` and `offsets` are a position that it needs."""

    number: int
    seconds: float  # that it may wait until the shards are at rest, and as far as the position
    message: dict[str, Any]
    batch: int = -1
    offsets: dict[str, dict[int, int]] = {}


class LaneAnswer(Struct, array_like=True, frozen=True):
    """The reply as JSON; nothing if the engine itself has to be asked."""

    number: int
    reply: bytes


_encoder = msgspec.msgpack.Encoder()
questions_of = msgspec.msgpack.Decoder(list[LaneQuestion]).decode
answers_of = msgspec.msgpack.Decoder(list[LaneAnswer]).decode


def frame(items: Sequence[LaneQuestion] | Sequence[LaneAnswer]) -> bytes:
    body = _encoder.encode(items)
    return len(body).to_bytes(SIZE_BYTES, _ORDER) + body


def size_of(head: bytes | bytearray) -> int:
    """How many bytes follow the first ones of a frame."""
    return int.from_bytes(head, _ORDER)
