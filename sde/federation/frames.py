"""Frames: what travels between two sites. Bytes from outside are nobody's until the mark fits.

magic "SDEQ" (a request) or "SDEA" (a contribution) | length of the sender's name u8 | sender
mark: HMAC-SHA256 of magic, sender, receiver and body, under the secret of the two | body
body: zlib of a bundle: a JSON head, then states
"""

from __future__ import annotations

import hashlib
import hmac
import zlib
from dataclasses import dataclass, field
from typing import Any

import orjson

from sde.wire.framing import FramingError, pack, unpack

REQUEST, CONTRIBUTION = MAGICS = b"SDEQ", b"SDEA"
LONGEST_SITE = 100  # bytes of a site's name
MOST_BYTES = 12 << 20  # of a frame: a topic takes messages of 16 MiB
_MOST_UNPACKED = 64 << 20
_MARK = hashlib.sha256().digest_size
_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


class FrameError(ValueError):
    """The bytes are no frame, or not one of a site we know."""


@dataclass(frozen=True, slots=True)
class Content:
    """`head` is a JSON object; `parts` are states."""

    head: dict[str, Any]
    parts: list[bytes] = field(default_factory=list)


def is_frame(payload: bytes) -> bool:
    return payload[:4] in MAGICS


def sender_of(payload: bytes) -> str:
    """Who a frame says it is from; not to be believed before the mark is checked."""
    length = payload[4] if len(payload) > 4 else 0
    try:
        return payload[5 : 5 + length].decode()
    except UnicodeDecodeError:
        raise FrameError("the sender's name is not UTF-8") from None


def seal(magic: bytes, sender: str, receiver: str, secret: bytes, content: Content) -> bytes:
    """
    >>> frame = seal(REQUEST, "a", "b", b"secret", Content({"key": "k"}, [b"state"]))
    >>> unseal(frame, "b", b"secret")
    Content(head={'key': 'k'}, parts=[b'state'])
    >>> unseal(frame, "c", b"secret")
    Traceback (most recent call last):
    ...
    sde.federation.frames.FrameError: the mark does not fit
    """
    name = sender.encode()
    body = zlib.compress(pack([orjson.dumps(content.head, option=_JSON), *content.parts]))
    head = magic + bytes([len(name)]) + name
    return head + _mark(head, receiver, secret, body) + body


def unseal(payload: bytes, receiver: str, secret: bytes) -> Content:
    """What a frame holds; FrameError if its mark or its form is wrong."""
    at = 5 + len(sender_of(payload).encode())
    head, mark, body = payload[:at], payload[at : at + _MARK], payload[at + _MARK :]
    if not hmac.compare_digest(mark, _mark(head, receiver, secret, body)):
        raise FrameError("the mark does not fit")
    try:
        inflate = zlib.decompressobj()
        bundle = inflate.decompress(body, _MOST_UNPACKED)
        if inflate.unconsumed_tail or not inflate.eof:
            raise FrameError(f"the body is cut, or has more than {_MOST_UNPACKED} bytes")
        described, *parts = unpack(bundle)
        told = orjson.loads(described)
    except (zlib.error, FramingError, orjson.JSONDecodeError, ValueError) as error:
        raise FrameError(f"the body cannot be read: {error}"[:200]) from None
    if not isinstance(told, dict):
        raise FrameError("the head is no JSON object")
    return Content(told, parts)


def _mark(head: bytes, receiver: str, secret: bytes, body: bytes) -> bytes:
    code = hmac.new(secret, head, hashlib.sha256)
    code.update(receiver.encode() + b"\0")
    code.update(body)
    return code.digest()
