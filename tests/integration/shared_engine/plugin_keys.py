"""Whose plug-ins the engine takes, and whose it refuses."""

import base64

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

AUTHOR = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))


def public(key):
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()
