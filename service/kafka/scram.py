"""SCRAM (RFC 5802): both sides show that they know a password, and neither tells it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_FEWEST, _MOST = 4096, 1_000_000  # turns of the hash; Kafka refuses fewer, and time is ours
_NO_BINDING = "biws"  # "n,,": no channel is bound


class ScramError(Exception):
    """The other side's message is not what the password makes it."""


class Scram:
    """One exchange: send `first`, then `final` of the answer, then `check` the second answer."""

    def __init__(self, mechanism: str, user: str, password: str, nonce: str = "") -> None:
        self._hash, self._password = HASHES[mechanism], password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={self._nonce}"
        self._signature = b""

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def final(self, answer: bytes) -> bytes:
        """The proof that we know the password; ScramError if the answer does not allow one."""
        fields = _fields(answer)
        nonce, salt, turns = fields.get("r", ""), _decoded(fields.get("s", "")), fields.get("i", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise ScramError("its number is not made of ours")
        if not turns.isdecimal() or not _FEWEST <= int(turns[:9]) <= _MOST or len(turns) > 9:
            raise ScramError(f"it wants {turns[:20]!r} iterations, expected {_FEWEST} to {_MOST}")
        without_proof = f"c={_NO_BINDING},r={nonce}"
        signed = b",".join((self._bare.encode(), answer, without_proof.encode()))
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, int(turns))
        client_key = self._mac(salted, b"Client Key")
        proof = self._mac(hashlib.new(self._hash, client_key).digest(), signed)
        self._signature = self._mac(self._mac(salted, b"Server Key"), signed)
        shown = bytes(a ^ b for a, b in zip(client_key, proof, strict=True))
        return f"{without_proof},p={base64.b64encode(shown).decode()}".encode()

    def check(self, answer: bytes) -> None:
        """ScramError if the other side does not know the password."""
        fields = _fields(answer)
        if "e" in fields:
            raise ScramError(f"it says {fields['e']!r}")
        if not hmac.compare_digest(_decoded(fields.get("v", "")), self._signature):
            raise ScramError("it does not know the password, so it is not the broker it should be")

    def _mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._hash)


def _fields(message: bytes) -> dict[str, str]:
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise ScramError("its message is no text") from None
    return {part[:1]: part[2:] for part in parts if part[1:2] == "="}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ScramError("its message is not base64") from None
