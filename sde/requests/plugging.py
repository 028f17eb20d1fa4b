"""Plug-ins come and go: what requests and the outcome of an examination change at a shard."""

from __future__ import annotations

import base64
from dataclasses import asdict
from typing import TypeVar

from msgspec.structs import replace

from sde.limits import StateLimits
from sde.plugins.remote import kind_class
from sde.plugins.trust import require_trusted
from sde.plugins.version import PluginVersion, Predecessor
from sde.records.arrived import Told
from sde.records.asked import Asked
from sde.records.codec import as_fact
from sde.records.loop import Admitted, Decided
from sde.records.result import Done, Outcome, Refused, Waits
from sde.records.upgrade import waiting_of
from sde.registry.registry import Registry
from sde.wire import Code, Fault, Plugin, Refusal, Release, Unplug


def require_welcome(registry: Registry, request: Plugin, distrusted: Fault | None) -> None:
    """Refusal if a source must not be run here, before anything is kept of it.

    `distrusted`: why not, as ingest found for all shards. Not for a replay: what an earlier version
    or other settings allowed was done.
    """
    if registry.outcome(request.id) is not None:  # a repeat gets the outcome it had
        return
    if distrusted is not None:
        raise Refusal.of(distrusted)
    registry.shelf.require_not_revoked(request.name, request.sha256)


def wait(
    registry: Registry, request: Plugin, asked: Asked, predecessor: Predecessor | None
) -> Outcome:
    """Keep a plug-in until it is examined; nothing of it is run before.

    `predecessor`: the version whose synopses it shall take over.
    """
    same = registry.shelf.same(request.name, request.sha256)
    if same is not None and (predecessor is None or predecessor.kind == same.kind):
        return Done(value=registry.shelf.told(same))
    registry.shelve("waits", request.id, as_fact(asked))
    return Waits(predecessor)


def _waiting(registry: Registry, request_id: str) -> tuple[Asked, Plugin] | None:
    """The request that waits under an id."""
    record = registry.shelf.waiting.get(request_id)
    if record is None:
        return None
    asked = waiting_of(record)
    assert isinstance(asked, Asked)
    assert isinstance(asked.request, Plugin)
    return asked, asked.request


def still_welcome(registry: Registry, told: Told, message: Admitted) -> Admitted:
    """The outcome of an examination, as a fault if the source must not be run here any more."""
    waiting = _waiting(registry, message.request)
    if waiting is None or message.fault is not None:
        return message
    _, request = waiting
    try:
        require_trusted(_key_of(request), told.trusted)
        require_welcome(registry, request, None)
    except Refusal as refusal:
        return replace(message, fault=refusal.fault)
    return message


def _key_of(request: Plugin) -> str:
    """The key that it is known by."""
    return base64.b64encode(request.key_bytes).decode()


def settle(
    registry: Registry, message: Admitted, limits: StateLimits
) -> tuple[Asked, Outcome] | None:
    """The request that waited for this, and what became of it; None if none did."""
    waiting = waiting_request(registry, message)
    if waiting is None:
        return None
    asked, request = waiting
    outcome: Outcome
    try:
        version = admit(registry, message, request, asked.time, limits)
        outcome = Done(value=registry.shelf.told(version))
    except Refusal as refusal:
        outcome = Refused(refusal.fault)
    return asked, settled(registry, message.request, outcome)


def waiting_request(registry: Registry, message: Admitted | Decided) -> tuple[Asked, Plugin] | None:
    """The request that waits for this message, if one does."""
    waiting = _waiting(registry, message.request)
    if isinstance(message, Admitted) and waiting is not None:
        return waiting if message.sha256 in ("", waiting[1].sha256) else None
    return waiting


Ended = TypeVar("Ended", Done, Refused, Outcome)


def settled(registry: Registry, request_id: str, outcome: Ended) -> Ended:
    """A request that waited has its outcome, which is given back."""
    registry.shelve("settled", request_id)
    registry.remember(request_id, outcome)
    return outcome


def admit(
    registry: Registry, message: Admitted, request: Plugin, time: int, limits: StateLimits
) -> PluginVersion:
    """Put a plug-in that was examined on the shelf; Refusal if it cannot be there."""
    if message.fault is not None:
        raise Refusal.of(message.fault)
    if len(registry.shelf.versions) >= limits.max_plugins:
        raise Refusal(
            Code.LIMIT_EXCEEDED,
            f"there are {limits.max_plugins} versions of plug-ins: unplug some first",
        )
    version = PluginVersion(
        request.name,
        registry.shelf.next_number(request.name),
        request.source,
        request.sha256,
        _key_of(request),
        time,
        message.declaration,
        limits.plugin_seconds,
        limits.plugin_bytes,
    )
    try:
        kind_class(version)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Refusal(Code.BROKEN_LAW, f"what the class declares makes no sense: {error}") from None
    registry.shelve("plugin", version.as_json())
    return version


def unplug(registry: Registry, request: Unplug) -> Done:
    versions = registry.shelf.named(request.name, request.version)
    for version in versions:
        if version.kind in registry.shelf.tried:
            raise Refusal(
                Code.IN_USE, f"{version.kind} is tried at this moment: unplug it later", "name"
            )
        users = registry.users_of(version.kind)
        if users:
            named = ", ".join(repr(uid[:80]) for uid in users[:5])
            raise Refusal(
                Code.IN_USE,
                f"{version.kind} is used by {len(users)} synopses ({named}): delete them first",
                "name",
            )
    for version in versions:
        registry.shelve("unplugged", version.kind)
    return Done(value=[version.kind for version in versions])


def release(registry: Registry, request: Release) -> Done:
    """Let what was quarantined go on with the states it has."""
    versions = registry.shelf.named(request.name, request.version)
    kinds = [version.kind for version in versions if version.kind in registry.shelf.reasons]
    if not kinds:
        raise Refusal(
            Code.BAD_REQUEST, f"name={request.name!r}: expected one that is quarantined", "name"
        )
    for kind in kinds:
        registry.shelve("released", kind)
    return Done(value=kinds)


# -- what plug-ins said of sizes, for a replay that shall not ask them again ----------------------


def with_sizes(asked: Asked, registry: Registry, before: int) -> Asked:
    """A request with the sizes that were told since `before`."""
    sizes = registry.shelf.sizes_since(before)
    return replace(asked, attached=replace(asked.attached, sizes=sizes)) if sizes else asked


def learn_sizes(registry: Registry, asked: Asked) -> None:
    for kind, made in asked.attached.sizes:
        registry.shelve("made", kind, asdict(made))
