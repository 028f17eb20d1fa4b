"""The plug-ins an engine has, part of the registry: the same in every shard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sde.plugins.remote import Made, Remote, kind_class, stop_process
from sde.plugins.version import PluginVersion
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
        self.made: dict[str, list[dict[str, Any]]] = {}  # sizes by parameters, as it told them
        self._told: list[Any] = []  # the same in their order

    @property
    def sizes_told(self) -> int:
        """How often sizes were told so far."""
        return len(self._told)

    def sizes_since(self, before: int) -> list[Any]:
        return self._told[before:]

    # -- facts, as the registry keeps them --------------------------------------------------------

    def apply(self, what: str, *fact: Any) -> None:
        match what, fact:
            case "waits", (str(request), dict(arrived)):
                self.waiting[request] = arrived
            case "settled", (str(request),):
                self.waiting.pop(request, None)
            case "number", (str(name), int(number)):
                self.numbers[name] = max(number, self.numbers.get(name, 0))
            case "plugin", (dict(held),):
                version = PluginVersion(**held)
                self.versions[version.kind] = version
                self.apply("number", version.name, version.version)
            case "made", (str(kind), dict(made)):
                kind_class(self.versions[kind]).learn(Made(**made))
                self.made.setdefault(kind, []).append(made)
                self._told.append([kind, made])
            case "quarantined", (str(kind), str(reason)):
                self.reasons.setdefault(kind, reason)
                stop_process(self.versions[kind])
            case "unplugged", (str(kind),):
                stop_process(self.versions.pop(kind))
                self.reasons.pop(kind, None)
                self.made.pop(kind, None)

    def facts(self) -> Iterator[list[Any]]:
        """Facts that make this shelf out of an empty one."""
        for request, arrived in self.waiting.items():
            yield ["waits", request, arrived]
        for name, number in self.numbers.items():
            yield ["number", name, number]
        for version in self.versions.values():
            yield ["plugin", version.as_json()]
        for kind, all_made in self.made.items():
            for made in all_made:
                yield ["made", kind, made]
        for kind, reason in self.reasons.items():
            yield ["quarantined", kind, reason]

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
        if asked in self.versions:
            self.require_sound(asked)
            return asked
        versions = [v for v in self.versions.values() if v.name == asked]
        sound = [v for v in versions if v.kind not in self.reasons]
        if versions and not sound:
            self.require_sound(versions[-1].kind)
        if not sound:
            raise Refusal(
                Code.UNKNOWN_KIND, f"kind={asked[:80]!r}: expected one of {', '.join(self)}", "kind"
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
        """The version that has this source, if it is here and sound."""
        held = (v for v in self.versions.values() if (v.name, v.sha256) == (name, sha256))
        return next((v for v in held if v.kind not in self.reasons), None)

    def next_number(self, name: str) -> int:
        return self.numbers.get(name, 0) + 1

    def named(self, name: str, version: int | None) -> list[PluginVersion]:
        """One version of a plug-in or all; Refusal if there is none."""
        found = [
            v for v in self.versions.values() if v.name == name and version in (None, v.version)
        ]
        if not found:
            wanted = name if version is None else plugin_kind(name, version)
            raise Refusal(
                Code.UNKNOWN_PLUGIN, f"name={wanted!r}: expected the name of a plug-in", "name"
            )
        return found

    def remote(self, kind: str) -> type[Remote] | None:
        """The class of a plug-in's kind, None for a kind of the library."""
        return kind_class(self.versions[kind]) if kind in self.versions else None

    def packed(self, kind: str) -> dict[str, Any] | None:
        """A plug-in's class for another worker; `unpacked` makes it again."""
        version = self.versions.get(kind)
        if version is None:
            return None
        return {"version": version.as_json(), "made": self.made.get(kind, [])}

    def told(self, version: PluginVersion) -> dict[str, Any]:
        """What users are told of a version."""
        reason = self.reasons.get(version.kind)
        return {
            "name": version.name,
            "version": version.version,
            "kind": version.kind,
            "sha256": version.sha256,
            "key": version.key or None,
            "state": "active" if reason is None else "quarantined",
            **({} if reason is None else {"reason": reason}),
            "added": version.added,
            "doc": version.declaration["doc"].split("\n\n")[0],
        }


def kind_in(head: dict[str, Any]) -> type[Synopsis]:
    """The class that the head of a partial is about. What came from outside must have no plug-in:
    code is taken from this engine's own shelf only."""
    packed = head.get("plugin")
    if packed is None:
        return KINDS[head["about"][0]["kind"]]
    cls = kind_class(PluginVersion(**packed["version"]))
    for made in packed["made"]:
        cls.learn(Made(**made))
    return cls
