"""Whose code is run: off (nobody's), signed (of trusted keys), open (anybody's)."""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import stat
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sde.wire import Code, Plugin, Refusal
from sde.wire.plugins import signed_bytes

OFF, SIGNED, OPEN = "off", "signed", "open"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trust:
    """`keys` are Ed25519 public keys in base64, as `sde plugin keygen` prints them.

    `keys_file` has more of them, one in a line, and is read each time somebody asks: keys come and
    go while the engine runs. So nobody may ask who must find the same as another: ingest asks for
    all shards, before they keep a source and before they take the outcome of an examination; the
    examiner asks before it runs one.
    """

    mode: str = SIGNED
    keys: tuple[str, ...] = ()
    keys_file: str = ""  # none

    def require(self, request: Plugin) -> None:
        """Refusal if this source must not be run here."""
        if self.mode == OFF:
            raise Refusal(Code.UNTRUSTED, "this engine takes no plug-ins (plugins = off)")
        found = hashlib.sha256(request.source.encode()).hexdigest()
        if found != request.sha256:
            raise Refusal(
                Code.UNTRUSTED,
                f"sha256={request.sha256!r}: expected {found!r}, that of the source",
                "sha256",
            )
        if self.mode == SIGNED:
            self._require_signature(request)

    @property
    def trusted(self) -> list[str] | None:
        """The keys whose plug-ins are taken now; None: all plug-ins are."""
        if self.mode == OPEN:
            return None
        return [] if self.mode == OFF else [*self.keys, *_keys_in(self.keys_file)]

    def _require_signature(self, request: Plugin) -> None:
        key = base64.b64encode(request.key_bytes).decode()
        if not request.key or not request.signature:
            raise Refusal(
                Code.UNTRUSTED,
                "signature: expected one, this engine takes signed plug-ins only",
                "signature",
            )
        require_trusted(key, self.trusted)
        try:
            signed = signed_bytes(request.name, request.sha256)
            author = Ed25519PublicKey.from_public_bytes(request.key_bytes)
            author.verify(request.signature_bytes, signed)
        except (InvalidSignature, ValueError):
            raise Refusal(
                Code.UNTRUSTED,
                "signature: expected that of this key over this name and sha256",
                "signature",
            ) from None


def require_trusted(key: str, trusted: list[str] | None) -> None:
    """Refusal if a key is not one of the trusted ones."""
    if trusted is not None and key not in trusted:
        raise Refusal(
            Code.UNTRUSTED,
            f"key={key!r}: expected one of the {len(trusted)} keys that this engine trusts "
            "(plugin_keys, and the lines of plugin_keys_file)",
            "key",
        )


def _keys_in(file: str) -> list[str]:
    """The first word of each line; the rest may say whose key it is. Lines with # say nothing.

    A file that others may write to is not believed.
    """
    if not file:
        return []
    try:
        with open(file, encoding="utf-8", errors="replace") as lines:
            found = os.fstat(lines.fileno())
            if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                _log.warning("%s is not read: others may write to it; chmod 600 it", file)
                return []
            words = [line.split() for line in lines]
    except FileNotFoundError:
        return []
    except OSError as error:
        _log.warning("%s: the keys in it are not trusted: %s", file, error.strerror)
        return []
    return [line[0] for line in words if line and not line[0].startswith("#")]
