"""Plug-ins come and go: what requests and the outcome of an examination change at a shard."""

from __future__ import annotations

import base64
from dataclasses import asdict

from msgspec.structs import replace

from sde.limits import StateLimits
from sde.plugins.remote import kind_class
from sde.plugins.trust import Trust
from sde.plugins.version import PluginVersion
from sde.records.asked import Asked
from sde.records.codec import as_fact
from sde.records.loop import Admitted
from sde.records.result import Done, Outcome, Refused, Waits
from sde.records.upgrade import waiting_of
from sde.registry.registry import Registry
from sde.wire import Code, Plugin, Refusal, Unplug


def require_welcome(registry: Registry, request: Plugin, trust: Trust) -> None:
    """Refusal if a source must not be run here, before anything is kept of it.

    Not for a replay: what an earlier version or other settings allowed was done.
    """
    if registry.outcome(request.id) is not None:  # a repeat gets the outcome it had
        return
    trust.require(request)
    registry.shelf.require_not_revoked(request.name, request.sha256)


def wait(registry: Registry, request: Plugin, asked: Asked) -> Outcome:
    """Keep a plug-in until it is examined; nothing of it is run before."""
    same = registry.shelf.same(request.name, request.sha256)
    if same is not None:
        return Done(value=registry.shelf.told(same))
    registry.shelve("waits", request.id, as_fact(asked))
    return Waits()


def _waiting(registry: Registry, request_id: str) -> tuple[Asked, Plugin] | None:
    """The request that waits under an id."""
    record = registry.shelf.waiting.get(request_id)
    if record is None:
        return None
    asked = waiting_of(record)
    assert isinstance(asked, Asked)
    assert isinstance(asked.request, Plugin)
    return asked, asked.request


def distrusted(registry: Registry, message: Admitted, trust: Trust) -> Admitted:
    """The outcome of an examination, as a fault if this source must not be run here.

    Shards look themselves, and again: settings and the shelf may have changed meanwhile.
    """
    waiting = _waiting(registry, message.request)
    if waiting is None or message.fault is not None:
        return message
    try:
        require_welcome(registry, waiting[1], trust)
    except Refusal as refusal:
        return replace(message, fault=refusal.fault)
    return message


def settle(
    registry: Registry, message: Admitted, limits: StateLimits
) -> tuple[Asked, Outcome] | None:
    """The request that waited for this, and what became of it; None if none did."""
    waiting = _waiting(registry, message.request)
    if waiting is None or message.sha256 not in ("", waiting[1].sha256):
        return None
    asked, request = waiting
    outcome: Outcome
    try:
        version = _admit(registry, message, request, asked.time, limits)
        outcome = Done(value=registry.shelf.told(version))
    except Refusal as refusal:
        outcome = Refused(refusal.fault)
    registry.shelve("settled", message.request)
    registry.remember(message.request, outcome)
    return asked, outcome


def _admit(
    registry: Registry, message: Admitted, request: Plugin, time: int, limits: StateLimits
) -> PluginVersion:
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
        base64.b64encode(request.key_bytes).decode(),
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


# -- what plug-ins said of sizes, for a replay that shall not ask them again ----------------------


def with_sizes(asked: Asked, registry: Registry, before: int) -> Asked:
    """A request with the sizes that were told since `before`."""
    sizes = registry.shelf.sizes_since(before)
    return replace(asked, attached=replace(asked.attached, sizes=sizes)) if sizes else asked


def learn_sizes(registry: Registry, asked: Asked) -> None:
    for kind, made in asked.attached.sizes:
        registry.shelve("made", kind, asdict(made))
