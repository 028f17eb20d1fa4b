"""The plug-ins an engine has, part of the registry: the same in every shard.

The registry applies facts to the shelf; requests (`sde.requests.plugging`) look things up in it.
Nothing but `apply` changes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from sde.plugins import shelf_facts
from sde.plugins.remote import Remote, kind_class, stop_process
from sde.plugins.shelf_facts import fact_json, fact_of
from sde.plugins.version import Made, PluginVersion
from sde.wire import Code, Refusal
from sde.wire.plugins import plugin_kind
from synopses import KINDS, Synopsis

Kinds = Mapping[str, type[Synopsis]]


class Shelf(Kinds):
    """All kinds by name: those of the library, and those of plug-ins."""

    def __init__(self) -> None:
        self.waiting: dict[str, dict[str, Any]] = {}  # requests that are being examined, by id
        self.reasons: dict[str, str] = {}  # why a kind is quarantined
        self.numbers: dict[str, int] = {}  # the highest version of a name ever
        self.versions: dict[str, PluginVersion] = {}  # by kind
        self.tried: dict[str, shelf_facts.Tried] = {}  # versions that cannot be used yet, by kind
        self._revoked: dict[str, str] = {}  # sha256 of what was unplugged, by kind
        self.made: dict[str, list[Made]] = {}  # sizes that plug-ins stated, by kind
        self._sizes: list[tuple[str, Made]] = []  # the same in the order they were stated

    @property
    def sizes_told(self) -> int:
        """How many sizes plug-ins have stated so far."""
        return len(self._sizes)

    def sizes_since(self, before: int) -> list[tuple[str, Made]]:
        """Kind and sizes for each that came after the first `before`; for the log of a request."""
        return self._sizes[before:]

    # -- facts, as the registry keeps them --------------------------------------------------------

    def apply(self, name: str, *values: Any) -> None:
        """Do what a fact of `sde.plugins.shelf_facts` says."""
        match fact := fact_of(name, *values):
            case shelf_facts.Waits():
                self.waiting[fact.request] = fact.arrived
            case shelf_facts.Settled():
                self.waiting.pop(fact.request, None)
            case shelf_facts.Number():
                self._count(fact.plugin, fact.number)
            case shelf_facts.Plugged():
                self.versions[fact.version.kind] = fact.version
                self._count(fact.version.name, fact.version.version)
            case shelf_facts.SizesMade():
                kind_class(self.versions[fact.kind]).learn(fact.made)
                self.made.setdefault(fact.kind, []).append(fact.made)
                self._sizes.append((fact.kind, fact.made))
            case shelf_facts.Quarantined():
                self.reasons.setdefault(fact.kind, fact.reason)
                stop_process(self.versions[fact.kind])
            case shelf_facts.Released():
                self.reasons.pop(fact.kind, None)
            case shelf_facts.Tried():
                self.tried[fact.kind] = fact
            case shelf_facts.Taken():
                del self.tried[fact.kind]
            case shelf_facts.Withdrawn():
                self._take_out(fact.kind)
            case shelf_facts.Unplugged():
                self._revoked[fact.kind] = self._take_out(fact.kind).sha256
            case shelf_facts.Revoked():
                self._revoked[fact.kind] = fact.sha256
            case never:
                assert_never(never)

    def _take_out(self, kind: str) -> PluginVersion:
        version = self.versions.pop(kind)
        stop_process(version)
        self.reasons.pop(kind, None)
        self.made.pop(kind, None)
        self.tried.pop(kind, None)
        return version

    def _count(self, plugin: str, number: int) -> None:
        self.numbers[plugin] = max(number, self.numbers.get(plugin, 0))

    def facts(self) -> Iterator[list[Any]]:
        """Facts that make this shelf out of an empty one."""
        for request, arrived in self.waiting.items():
            yield fact_json(shelf_facts.Waits(request, arrived))
        for plugin, number in self.numbers.items():
            yield fact_json(shelf_facts.Number(plugin, number))
        for version in self.versions.values():
            yield fact_json(shelf_facts.Plugged(version))
        for kind, all_made in self.made.items():
            for made in all_made:
                yield fact_json(shelf_facts.SizesMade(kind, made))
        for kind, reason in self.reasons.items():
            yield fact_json(shelf_facts.Quarantined(kind, reason))
        for tried in self.tried.values():
            yield fact_json(tried)
        for kind, sha256 in self._revoked.items():
            yield fact_json(shelf_facts.Revoked(kind, sha256))

    # -- kinds ------------------------------------------------------------------------------------

    def __getitem__(self, kind: str) -> type[Synopsis]:
        return KINDS[kind] if kind in KINDS else kind_class(self.versions[kind])

    def __iter__(self) -> Iterator[str]:
        return iter((*KINDS, *self.versions))

    def __len__(self) -> int:
        return len(KINDS) + len(self.versions)

    def resolve(self, asked: str) -> str:
        """The kind that a name means: of a plug-in, its newest version that is not quarantined."""
        if asked in KINDS:
            return asked
        usable = [v for v in self.versions.values() if v.kind not in self.tried]
        if asked in (v.kind for v in usable):
            self.require_sound(asked)
            return asked
        versions = [v for v in usable if v.name == asked]
        sound = [v for v in versions if v.kind not in self.reasons]
        if versions and not sound:
            self.require_sound(versions[-1].kind)
        if not sound:
            raise Refusal(
                Code.UNKNOWN_KIND,
                f"kind={asked[:80]!r}: expected one of {', '.join(sorted(self))}",
                "kind",
            )
        return max(sound, key=lambda v: v.version).kind

    def require_sound(self, kind: str) -> None:
        """Refusal if a kind is quarantined."""
        if kind in self.reasons:
            raise Refusal(
                Code.QUARANTINED,
                f"{kind} is quarantined since it misbehaved: {self.reasons[kind]}",
                "kind",
            )

    def same(self, name: str, sha256: str) -> PluginVersion | None:
        """The newest version that has this source, if one is here and can be used."""
        same = (v for v in self.versions.values() if (v.name, v.sha256) == (name, sha256))
        unusable = self.reasons.keys() | self.tried.keys()
        usable = (v for v in same if v.kind not in unusable)
        return max(usable, key=lambda v: v.version, default=None)

    def require_not_revoked(self, name: str, sha256: str) -> None:
        """Refusal if this source was unplugged or quarantined: its author signed it once, but who
        sends it now need not be the author."""
        if self.same(name, sha256) is not None:
            return
        for version in self.versions.values():
            if (version.name, version.sha256) == (name, sha256):
                self.require_sound(version.kind)
        for kind, revoked in self._revoked.items():
            if revoked == sha256 and kind.rpartition("@")[0] == name:
                raise Refusal(
                    Code.UNTRUSTED,
                    f"sha256={sha256!r}: this source was unplugged as {kind} and does not come "
                    "back; one that is changed is a new version",
                    "sha256",
                )

    def next_number(self, name: str) -> int:
        """The version that a plug-in plugged in now gets; numbers are never given out twice."""
        return self.numbers.get(name, 0) + 1

    def named(self, name: str, version: int | None) -> list[PluginVersion]:
        """One version of a plug-in or all; Refusal if there is none."""
        found = [
            v for v in self.versions.values() if v.name == name and version in (None, v.version)
        ]
        if not found:
            asked = name if version is None else plugin_kind(name, version)
            raise Refusal(
                Code.UNKNOWN_PLUGIN, f"name={asked!r}: expected the name of a plug-in", "name"
            )
        return found

    def remote(self, kind: str) -> type[Remote] | None:
        """The class of a plug-in's kind, None for a kind of the library."""
        return kind_class(self.versions[kind]) if kind in self.versions else None

    def sizes_of(self, kind: str) -> list[Made]:
        """The sizes that a plug-in told, for another worker."""
        return self.made.get(kind, [])

    def told(self, version: PluginVersion) -> dict[str, Any]:
        """A version as users see it, in the replies to `plugin` and `plugins`."""
        reason = self.reasons.get(version.kind)
        state = "active" if version.kind not in self.tried else "tried"
        return {
            "name": version.name,
            "version": version.version,
            "kind": version.kind,
            "sha256": version.sha256,
            "key": version.key or None,
            "state": state if reason is None else "quarantined",
            **({} if reason is None else {"reason": reason}),
            "added": version.added,
            "doc": version.declaration["doc"].split("\n\n")[0],
        }
