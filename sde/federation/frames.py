"""Frames: what travels between two sites. Bytes from outside are nobody's until the mark fits.

magic "SDEQ" (PeerRequest) or "SDEA" (Contribution) | length of the sender's name u8 | sender
mark: HMAC-SHA256 of magic, sender, receiver and body, under the secret of the two | body
body: zlib of a bundle: a JSON head, then states
"""

from __future__ import annotations

import hashlib
import hmac
import zlib
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from sde.records.codec import encode
from sde.records.sites import Contribution, PeerRequest
from sde.wire import Code, Fault
from sde.wire.framing import FramingError, pack, unpack

REQUEST, CONTRIBUTION = MAGICS = b"SDEQ", b"SDEA"
LONGEST_SITE = 100  # bytes of a site's name
MOST_BYTES = 12 << 20  # of a frame: a topic takes messages of 16 MiB
_MOST_UNPACKED = 64 << 20
_MARK = hashlib.sha256().digest_size

Head = PeerRequest | Contribution


class FrameError(ValueError):
    """The bytes are no frame, or not one of a site we know."""


@dataclass(frozen=True, slots=True)
class Content:
    """`parts` are states."""

    head: Head
    parts: list[bytes] = field(default_factory=list)


class _Keyed(Struct):
    """What is left of a contribution that is damaged: the request it was for."""

    key: str


def is_frame(payload: bytes) -> bool:
    return payload[:4] in MAGICS


def sender_of(payload: bytes) -> str:
    """Who a frame says it is from; not to be believed before the mark is checked."""
    length = payload[4] if len(payload) > 4 else 0
    try:
        return payload[5 : 5 + length].decode()
    except UnicodeDecodeError:
        raise FrameError("the sender's name is not UTF-8") from None


def seal(sender: str, receiver: str, secret: bytes, content: Content) -> bytes:
    """
    >>> frame = seal("a", "b", b"secret", Content(PeerRequest("k"), [b"state"]))
    >>> unseal(frame, "b", b"secret").parts
    [b'state']
    >>> unseal(frame, "c", b"secret")
    Traceback (most recent call last):
    ...
    sde.federation.frames.FrameError: the mark does not fit
    """
    name = sender.encode()
    packed = pack_content(content)
    head, body = packed[:4] + bytes([len(name)]) + name, packed[4:]
    return head + _mark(head, receiver, secret, body) + body


def unseal(payload: bytes, receiver: str, secret: bytes) -> Content:
    """What a frame holds; FrameError if its mark or its form is wrong."""
    at = 5 + len(sender_of(payload).encode())
    head, mark, body = payload[:at], payload[at : at + _MARK], payload[at + _MARK :]
    if not hmac.compare_digest(mark, _mark(head, receiver, secret, body)):
        raise FrameError("the mark does not fit")
    return unpack_content(payload[:4] + body)


def pack_content(content: Content) -> bytes:
    """Magic and body, without saying who it is from."""
    magic = REQUEST if isinstance(content.head, PeerRequest) else CONTRIBUTION
    return magic + zlib.compress(pack([encode(content.head), *content.parts]))


def unpack_content(packed: bytes) -> Content:
    """What magic and body hold; FrameError if their form is wrong."""
    try:
        inflate = zlib.decompressobj()
        bundle = inflate.decompress(packed[4:], _MOST_UNPACKED)
        if inflate.unconsumed_tail or not inflate.eof:
            raise FrameError(f"the body is cut, or has more than {_MOST_UNPACKED} bytes")
        described, *parts = unpack(bundle)
        return Content(_head(packed[:4], described), parts)
    except (zlib.error, FramingError, msgspec.DecodeError, RecursionError, ValueError) as error:
        raise FrameError(f"the body cannot be read: {error}"[:200]) from None


def _head(magic: bytes, described: bytes) -> Head:
    """A contribution that is damaged still says which request it was for, and that it is."""
    if magic == REQUEST:
        return msgspec.json.decode(described, type=PeerRequest)
    try:
        return msgspec.json.decode(described, type=Contribution)
    except msgspec.ValidationError as error:
        key = msgspec.json.decode(described, type=_Keyed).key
        reason = f"its contribution is damaged: {error}"[:300]
        return Contribution(key=key, fault=Fault(Code.BAD_STATE, reason))


def _mark(head: bytes, receiver: str, secret: bytes, body: bytes) -> bytes:
    code = hmac.new(secret, head, hashlib.sha256)
    code.update(receiver.encode() + b"\0")
    code.update(body)
    return code.digest()
