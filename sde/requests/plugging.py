"""Plug-ins come and go: what requests and the outcome of an examination change at a shard."""

from __future__ import annotations

import base64
from dataclasses import asdict, replace
from typing import Any

from sde.limits import StateLimits
from sde.plugins.remote import kind_class
from sde.plugins.trust import Trust
from sde.plugins.version import PluginVersion
from sde.records.arrived import Arrived
from sde.registry.registry import Registry
from sde.wire import Code, Fault, Plugin, Refusal, Unplug, decode_request
from sde.wire.loop import Admitted

Outcome = dict[str, Any]


def wait(registry: Registry, request: Plugin, arrived: Arrived) -> Outcome:
    """Keep a plug-in until it is examined; nothing of it is run before."""
    same = registry.shelf.same(request.name, request.sha256)
    if same is not None:
        return {"ok": {"value": registry.shelf.told(same)}}
    registry.shelve("waits", request.id, arrived.as_json())
    return {"waits": True}


def distrusted(registry: Registry, message: Admitted, trust: Trust) -> Admitted:
    """The outcome of an examination, as a fault if this source must not be run here.

    The examiner looked already; but anybody can write to a topic, so shards look themselves.
    """
    held = registry.shelf.waiting.get(message.request)
    if held is None or message.fault is not None:
        return message
    try:
        trust.require(_request(held))
    except Refusal as refusal:
        return replace(message, fault=asdict(refusal.fault))
    return message


def settle(
    registry: Registry, message: Admitted, limits: StateLimits
) -> tuple[Arrived, Outcome] | None:
    """The request that waited for this, and what became of it; None if none did."""
    held = registry.shelf.waiting.get(message.request)
    if held is None:
        return None
    try:
        outcome: Outcome = {"ok": {"value": _admit(registry, message, held, limits)}}
    except Refusal as refusal:
        outcome = {"fault": asdict(refusal.fault)}
    registry.shelve("settled", message.request)
    registry.remember(message.request, outcome)
    return Arrived.from_json(held), outcome


def _admit(
    registry: Registry, message: Admitted, held: dict[str, Any], limits: StateLimits
) -> dict[str, Any]:
    if message.fault is not None:
        raise Refusal.of(Fault.from_record(message.fault))
    if len(registry.shelf.versions) >= limits.max_plugins:
        raise Refusal(
            Code.LIMIT_EXCEEDED,
            f"there are {limits.max_plugins} versions of plug-ins: unplug some first",
        )
    request = _request(held)
    version = PluginVersion(
        request.name,
        registry.shelf.next_number(request.name),
        request.source,
        request.sha256,
        base64.b64encode(request.key).decode(),
        held["time"],
        message.declaration,
        limits.plugin_seconds,
        limits.plugin_bytes,
    )
    try:
        kind_class(version)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Refusal(Code.BROKEN_LAW, f"what the class declares makes no sense: {error}") from None
    registry.shelve("plugin", version.as_json())
    return registry.shelf.told(version)


def _request(held: dict[str, Any]) -> Plugin:
    request = decode_request(held["message"], held["place"])
    assert isinstance(request, Plugin)
    return request


def unplug(registry: Registry, request: Unplug) -> dict[str, Any]:
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
    return {"value": [version.kind for version in versions]}


# -- what plug-ins said of sizes, for a replay that shall not ask them again ----------------------


def with_sizes(arrived: Arrived, registry: Registry, before: int) -> Arrived:
    """A request with the sizes that were told since `before`."""
    told = registry.shelf.sizes_since(before)
    return (
        replace(arrived, attached={**(arrived.attached or {}), "sizes": told}) if told else arrived
    )


def learn(registry: Registry, arrived: Arrived) -> None:
    for kind, made in (arrived.attached or {}).get("sizes", ()):
        registry.shelve("made", kind, made)
