"""The facts of a shelf. Their JSON is durable, a list each: a name and what the record says.

>>> fact_of("number", "geofence", 2)
Number(plugin='geofence', number=2)
>>> fact_json(Number("geofence", 2))
['number', 'geofence', 2]
"""

from __future__ import annotations

from typing import Any

import msgspec

from sde.plugins.version import Made, PluginVersion


class _Fact(msgspec.Struct, frozen=True, array_like=True):
    pass


class Waits(_Fact, frozen=True, tag="waits"):
    """A request to plug in is being examined; `arrived` is the JSON of `sde.records.Arrived`."""

    request: str
    arrived: dict[str, Any]


class Settled(_Fact, frozen=True, tag="settled"):
    """The examination of a request ended."""

    request: str


class Number(_Fact, frozen=True, tag="number"):
    """Versions of a plug-in up to this number were given out, even if none is left."""

    plugin: str
    number: int


class Plugged(_Fact, frozen=True, tag="plugin"):
    """A version of a plug-in can be used."""

    version: PluginVersion


class SizesMade(_Fact, frozen=True, tag="made"):
    """Sizes that a plug-in stated for some parameters."""

    kind: str
    made: Made


class Quarantined(_Fact, frozen=True, tag="quarantined"):
    """A version misbehaved and is not called again."""

    kind: str
    reason: str


class Released(_Fact, frozen=True, tag="released"):
    """A version that misbehaved may be called again."""

    kind: str


class Tried(_Fact, frozen=True, tag="tried"):
    """A version takes the place of an older one, if that goes well in all shards.

    `moves`: the numbers of instances of the older version, each with that of its successor.
    """

    kind: str
    request: str
    moves: list[tuple[int, int]]


class Taken(_Fact, frozen=True, tag="taken"):
    """A version that was tried can be used."""

    kind: str


class Withdrawn(_Fact, frozen=True, tag="withdrawn"):
    """A version that was tried is gone; its source may come again."""

    kind: str


class Unplugged(_Fact, frozen=True, tag="unplugged"):
    """A version is gone, and its source does not come back."""

    kind: str


class Revoked(_Fact, frozen=True, tag="revoked"):
    """A source that was unplugged: the kind that it was."""

    kind: str
    sha256: str


ShelfFact = (
    Waits
    | Settled
    | Number
    | Plugged
    | SizesMade
    | Quarantined
    | Released
    | Tried
    | Taken
    | Withdrawn
    | Unplugged
    | Revoked
)


def fact_of(name: str, *values: Any) -> ShelfFact:
    """The record of a fact; ValueError if it is none that this version knows."""
    return msgspec.convert([name, *values], ShelfFact)  # type: ignore[no-any-return]


def fact_json(fact: ShelfFact) -> list[Any]:
    return msgspec.to_builtins(fact)  # type: ignore[no-any-return]
