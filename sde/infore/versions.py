"""Versions of snapshots: they are counted from 0 there, from 1 here."""

from __future__ import annotations

from typing import Any

from sde.infore.envelope import whole


def native_version(number: int) -> str:
    return str(number + 1)


def shown_version(version: Any) -> str:
    """A version that was given a name natively keeps it.

    >>> shown_version("1"), shown_version("before-christmas")
    ('0', 'before-christmas')
    """
    number = whole(version)
    return str(version) if number is None else str(number - 1)
