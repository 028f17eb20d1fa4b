"""Whose code is run: off (nobody's), signed (of trusted keys), open (anybody's)."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sde.wire import Code, Plugin, Refusal
from sde.wire.plugins import signed_bytes

OFF, SIGNED, OPEN = "off", "signed", "open"


@dataclass(frozen=True, slots=True)
class Trust:
    """`keys` are Ed25519 public keys in base64, as `sde plugin keygen` prints them.

    Settings make one. Every shard asks it before it keeps a source, the examiner before it runs
    one, and every shard again before it takes the outcome.
    """

    mode: str = SIGNED
    keys: tuple[str, ...] = ()

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

    def _require_signature(self, request: Plugin) -> None:
        key = base64.b64encode(request.key_bytes).decode()
        if not request.key or not request.signature:
            raise Refusal(
                Code.UNTRUSTED,
                "signature: expected one, this engine takes signed plug-ins only",
                "signature",
            )
        if key not in self.keys:
            raise Refusal(
                Code.UNTRUSTED,
                f"key={key!r}: expected one of the {len(self.keys)} keys in plugin_keys",
                "key",
            )
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
