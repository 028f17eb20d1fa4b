"""The seal on what the engine tells itself: who lacks the secret can neither make nor change it.

magic "SDEL" | length of the checkpoint's name u16 | name | batch that wrote it i64, -1: none
mark: BLAKE2b of all of that and the body, keyed with the secret of the checkpoint | body
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

_MAGIC = b"SDEL"
_LENGTH, _BATCH = struct.Struct("<H"), struct.Struct("<q")
_NAME = len(_MAGIC) + _LENGTH.size  # where it begins
_MARK = 32
_SECRET = 32
_NO_BATCH = -1


class NotOurs(Exception):
    """The bytes are a message of another checkpoint: nothing to be said about."""


class Forged(Exception):
    """The bytes pass for a message of this checkpoint, or for one at all, and are none."""


class Opened(NamedTuple):
    body: bytes
    batch: int | None  # that wrote it; None: a thread beside the query did


@dataclass(frozen=True, slots=True)
class LoopSeal:
    """`secret` is made with the checkpoint and stands in no message.

    `unsealed_before`: offsets by topic, below which stands what a version without seals wrote.

    >>> seal = LoopSeal.new("mine")
    >>> seal.open(seal.close(b"body", batch=7))
    Opened(body=b'body', batch=7)
    >>> LoopSeal.new("mine").open(seal.close(b"body"))
    Traceback (most recent call last):
    ...
    sde.records.seal.Forged: the mark does not fit
    """

    checkpoint: str
    secret: bytes = field(repr=False)
    unsealed_before: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def new(cls, checkpoint: str = "-", unsealed_before: Mapping[str, int] | None = None) -> Self:
        return cls(checkpoint, secrets.token_bytes(_SECRET), unsealed_before or {})

    def close(self, body: bytes, batch: int | None = None) -> bytes:
        name = self.checkpoint.encode()
        number = _BATCH.pack(_NO_BATCH if batch is None else batch)
        head = _MAGIC + _LENGTH.pack(len(name)) + name + number
        return head + self._mark(head, body) + body

    def open(self, payload: bytes) -> Opened:
        """What was sealed; NotOurs or Forged if it is nothing of this checkpoint's."""
        if not is_sealed(payload) or len(payload) < _NAME:
            raise Forged("it is not sealed")
        (length,) = _LENGTH.unpack_from(payload, len(_MAGIC))
        name, end = payload[_NAME : _NAME + length], _NAME + length + _BATCH.size
        if name != self.checkpoint.encode():
            raise NotOurs(f"of the checkpoint {name[:80]!r}")
        head, mark, body = payload[:end], payload[end : end + _MARK], payload[end + _MARK :]
        if not hmac.compare_digest(mark, self._mark(head, body)):
            raise Forged("the mark does not fit")
        (batch,) = _BATCH.unpack_from(payload, _NAME + length)
        return Opened(body, None if batch == _NO_BATCH else batch)

    def is_older(self, topic: str, offset: int) -> bool:
        """Whether a message was written before there were seals."""
        return offset < self.unsealed_before.get(topic, 0)

    def _mark(self, head: bytes, body: bytes) -> bytes:
        code = hashlib.blake2b(head, key=self.secret, digest_size=_MARK)
        code.update(body)
        return code.digest()


def is_sealed(payload: bytes) -> bool:
    return payload.startswith(_MAGIC)
