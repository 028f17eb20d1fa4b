"""What a shard notes of plug-ins: taken, refused, removed and so on, and why.

`sde.requests.examining` writes it down.
"""

from __future__ import annotations

from collections.abc import Mapping

from sde.plugins.shelf import Shelf
from sde.records.loop import Noted
from sde.records.result import Done, Refused, Result
from sde.wire import Plugin, Release, Unplug

About = Plugin | Unplug | Release


def keys_of(shelf: Shelf) -> dict[str, str]:
    """Who signed each kind."""
    return {version.kind: version.key for version in shelf.versions.values()}


def notes(request: About, result: Result, keys: Mapping[str, str]) -> list[Noted]:
    """What there is to note of a request; `keys` has those of all kinds it may be about."""
    match result:
        case Refused(fault=fault):
            key = request.key[:80] if isinstance(request, Plugin) else ""
            version = None if isinstance(request, Plugin) else request.version
            reason = f"{fault.code}: {fault.message}"
            return [
                Noted(what="refused", plugin=request.name, version=version, key=key, reason=reason)
            ]
        case Done(value={"kind": kind, **rest}):
            if "moved" not in rest:
                return [note("taken", kind, keys)]
            return [note("migrated", kind, keys, f"it took over {rest['moved']} synopses")]
        case Done(value=[*kinds]):
            what = "removed" if isinstance(request, Unplug) else "released"
            return [note(what, kind, keys) for kind in kinds]
        case _:  # it is examined or tried first
            return []


def note(what: str, kind: str, keys: Mapping[str, str], reason: str = "") -> Noted:
    """A note about a version."""
    plugin, _, version = kind.rpartition("@")
    return Noted(
        what=what, plugin=plugin, version=int(version), key=keys.get(kind, ""), reason=reason
    )
