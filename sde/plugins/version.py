"""One version of a plug-in: its source, who signed it, and what its class declares."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sde.wire.plugins import plugin_kind


@dataclass(frozen=True, slots=True)
class PluginVersion:
    """All that any worker needs to run the plug-in. Its JSON is durable, in a fact of the shelf."""

    name: str
    version: int
    source: str
    sha256: str
    key: str  # of its author, base64; "": nobody signed it
    added: int  # ms
    declaration: dict[str, Any]  # the JSON of a `sde.plugins.declaration.Declaration`
    seconds: int | float  # that one call may take
    memory: int  # bytes that its process may take beside what Python needs

    @property
    def kind(self) -> str:
        """The name under which synopses of this version are created."""
        return plugin_kind(self.name, self.version)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Made:
    """What follows from parameters, as the plug-in said when they were first used.

    `asdict` of it is the JSON of a fact: see `sde.plugins.shelf_facts`.
    """

    params: dict[str, Any]
    memory: int
    layout: dict[str, list[Any]] | None  # [dtype, shape] by array; None: it has no arrays


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The version whose synopses a new one takes over: what they are made with."""

    kind: str
    format: int
    made: list[Made]


@dataclass(frozen=True, slots=True)
class Succession:
    """How a synopsis of the predecessor, with these parameters, is made in the new version."""

    predecessor: str  # its kind
    params: dict[str, Any]
    made: Made
