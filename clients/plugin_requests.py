"""What a client asks an engine about plug-ins."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from clients.connection import Connection
from clients.kinds import Kind, library_kinds, plugin_kind
from clients.pending import Pending
from clients.plugins import EXAMINATION_SECONDS, PluginInfo, read_plugin, sign
from clients.records import Records
from clients.transport import Message
from clients.waiting import waiting
from sde import wire


class PluginRequests:
    """The part of `Client` that brings new kinds and takes them out."""

    _connection: Connection

    def submit_add_plugin(
        self,
        path: str | Path,
        /,
        name: str | None = None,
        *,
        key: str | Path | None = None,
        migrate: bool = False,
    ) -> Pending[PluginInfo]:
        """Bring a new kind: the class in a Python file, signed with the private key in another.

        The engine examines it before it answers. That takes seconds, with kernels to compile more.
        `migrate`: the synopses of the version before go on as synopses of this one.
        """
        plugin = structs.replace(read_plugin(path, name), migrate=migrate)
        request = plugin if key is None else sign(plugin, key)
        return self._connection.submit(
            request, lambda reply: PluginInfo.of(reply["value"]), EXAMINATION_SECONDS
        )

    add_plugin = waiting(submit_add_plugin)

    def submit_plugins(self) -> Pending[Records[PluginInfo]]:
        """The plug-ins in all their versions."""
        return self._connection.submit_list(wire.Plugins(), PluginInfo)

    plugins = waiting(submit_plugins)

    def submit_kinds(self) -> Pending[Records[Kind]]:
        """The kinds of the library and of the engine's plug-ins; `print` one to read of it."""

        def read(reply: Message) -> Records[Kind]:
            active = (each for each in reply["value"] if each.get("state") == "active")
            of_plugins = [plugin_kind(each["declared"]) for each in active if each.get("declared")]
            found = [*library_kinds().values(), *of_plugins]
            return Records(sorted(found, key=lambda kind: kind.kind))

        return self._connection.submit(wire.Plugins(), read)

    kinds = waiting(submit_kinds)

    def submit_remove_plugin(self, name: str, /, version: int | None = None) -> Pending[None]:
        """Take out a version, or all; refused while synopses are made of it."""
        request = wire.Unplug(name=name, version=version)
        return self._connection.submit(request, lambda reply: None)

    remove_plugin = waiting(submit_remove_plugin)

    def submit_release_plugin(
        self, name: str, /, version: int | None = None
    ) -> Pending[tuple[str, ...]]:
        """Let a quarantined version, or all, go on: the kinds that do.

        Tuples that came meanwhile are missed; `describe` and answers say so.
        """
        request = wire.Release(name=name, version=version)
        return self._connection.submit(request, lambda reply: tuple(reply["value"]))

    release_plugin = waiting(submit_release_plugin)
