"""Sources in the settings: a table `[sources.NAME]` each, with the fields of a `source` request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sde.wire import Refusal, Source, decode_request
from service.setting_values import SettingsError

SourceTables = dict[str, Source]


def read_sources(tables: Mapping[str, Any]) -> SourceTables:
    """By name; SettingsError if one is wrong by itself. Its expressions the engine checks."""
    found: SourceTables = {}
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise SettingsError(f"sources.{name}={table!r}: expected a table [sources.{name}]")
        try:
            request = decode_request({**table, "op": "source", "name": name}, "settings")
        except Refusal as refusal:
            raise SettingsError(f"sources.{name}: {refusal.fault.message}") from None
        assert isinstance(request, Source)
        found[name] = request
    return found
