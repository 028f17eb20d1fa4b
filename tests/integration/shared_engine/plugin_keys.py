"""Whose plug-ins the engine takes, whose it refuses, and how they are sent."""

import base64

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from plugin_sources import plugin_request

from sde.wire.plugins import signed_bytes

AUTHOR = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))


def public(key):
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def signed(name, source, key=AUTHOR):
    request = plugin_request(name, source)
    del request["id"], request["op"]
    signature = base64.b64encode(key.sign(signed_bytes(name, request["sha256"]))).decode()
    return request | {"key": public(key), "signature": signature}


def plug_in(sde, name, source, key=AUTHOR):
    return sde.submit("plugin", **signed(name, source, key)).result()["value"]
