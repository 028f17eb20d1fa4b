"""One version of a plug-in: its source, who signed it, and what its class declares."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sde.wire.plugins import plugin_kind


@dataclass(frozen=True, slots=True)
class PluginVersion:
    name: str
    version: int
    source: str
    sha256: str
    key: str  # of its author, base64; "": nobody signed it
    added: int  # ms
    declaration: dict[str, Any]
    seconds: float  # that one call may take
    memory: int  # bytes that its process may take beside what Python needs

    @property
    def kind(self) -> str:
        return plugin_kind(self.name, self.version)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
