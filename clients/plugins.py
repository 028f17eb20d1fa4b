"""Plug-ins: a Python file becomes a request, signed with its author's key."""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import structs

from clients.errors import BadInput, ClientError
from clients.records import known_fields
from clients.times import datetime_of
from clients.transport import Message
from sde.wire import Plugin
from sde.wire.plugins import NAME_FORM, signed_bytes

EXAMINATION_SECONDS = 120.0  # of a plug-in by the engine, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """A version of a plug-in as the engine knows it; `kind` is what `create` takes."""

    name: str = ""
    version: int = 0
    kind: str = ""
    state: str = ""  # "active", "quarantined", or "tried" while it takes over synopses
    reason: str | None = None  # why it is quarantined
    key: str | None = None  # the author's public key
    added: int | None = None  # milliseconds since 1970
    synopses: int | None = None  # how many are made of it
    moved: int | None = None  # how many of the version before it took over, if it was to
    raw: Message = field(repr=False)

    @classmethod
    def of(cls, reply: Message) -> PluginInfo:
        return cls(**known_fields(cls, reply), raw=reply)

    @property
    def added_time(self) -> datetime | None:
        """`added` as a datetime in UTC."""
        return datetime_of(self.added)


def checked_name(name: str) -> str:
    """A name that a plug-in can have, or BadInput."""
    if not NAME_FORM.fullmatch(name):
        raise BadInput(
            f"name={name!r}: expected a small letter, then small letters, digits and underscores,"
            " at most 50"
        )
    return name


def read_plugin(path: str | os.PathLike[str], name: str | None = None) -> Plugin:
    """The request that adds the plug-in in a file; its name is that of the file."""
    file = Path(path)
    content = _read(file)
    try:
        source = content.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{file}: expected Python source in UTF-8, {error}") from None
    digest = hashlib.sha256(content).hexdigest()
    return Plugin(name=checked_name(name or file.stem), source=source, sha256=digest)


def sign(plugin: Plugin, key_file: str | os.PathLike[str]) -> Plugin:
    """The request with the author's public key and signature."""
    ed25519, serialization = _cryptography()
    expected = f"{key_file}: expected an Ed25519 private key in PEM, as 'sde plugin keygen' writes"
    try:
        private = serialization.load_pem_private_key(_read(Path(key_file)), password=None)
    except (ValueError, TypeError) as error:
        raise BadInput(f"{expected}: {error}") from None
    if not isinstance(private, ed25519.Ed25519PrivateKey):
        raise BadInput(expected)
    signature = base64.b64encode(private.sign(signed_bytes(plugin.name, plugin.sha256)))
    return structs.replace(plugin, key=_public(private), signature=signature.decode())


def make_key(key_file: str | os.PathLike[str]) -> str:
    """Write a new private key, readable by its owner only; the public key that belongs to it."""
    ed25519, serialization = _cryptography()
    private = ed25519.Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        handle = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise BadInput(f"{key_file} exists already: expected the name of a new file") from None
    except OSError as error:
        raise BadInput(f"{key_file}: {error.strerror}") from error
    with open(handle, "wb") as file:
        file.write(pem)
    return _public(private)


def _public(private: Any) -> str:
    return base64.b64encode(private.public_key().public_bytes_raw()).decode()


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}") from error


def _cryptography() -> tuple[Any, Any]:
    """The modules ed25519 and serialization, imported only by those who sign."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ClientError(
            "cryptography is not installed; keys and signatures need it: pip install cryptography"
        ) from None
    return ed25519, serialization
