"""Plug-ins on the wire: their names, and what an author signs."""

from __future__ import annotations

import re

NAME_FORM = re.compile(r"[a-z][a-z0-9_]{0,49}")
LARGEST_SOURCE = 256 << 10  # characters


def signed_bytes(name: str, sha256: str) -> bytes:
    """What an author signs: this source under this name, and nothing else."""
    return f"sde-plugin\n{name}\n{sha256}".encode()


def plugin_kind(name: str, version: int) -> str:
    """The kind that a version of a plug-in brings.

    >>> plugin_kind("geofence", 2)
    'geofence@2'
    """
    return f"{name}@{version}"
