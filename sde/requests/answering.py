"""What one shard says to a request that reads. Whatever is wrong with it becomes a fault."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from sde.records.arrived import Arrived
from sde.registry.registry import Instance
from sde.requests.changing import internal
from sde.requests.questions import Said, about, ask, export
from sde.shard.shard import Shard
from sde.wire import (
    Ask,
    Code,
    Describe,
    Export,
    Fault,
    ListAll,
    Plugins,
    Refusal,
    Request,
    Sites,
    Snapshots,
    decode_request,
)
from synopses import QueryError

_log = logging.getLogger(__name__)

READS = (Ask, Export, ListAll, Describe, Snapshots, Plugins, Sites)
Read = Ask | Export | ListAll | Describe | Snapshots | Plugins | Sites


def decoded(arrived: Arrived) -> Request | Fault:
    """The request, or why there is none."""
    if arrived.fault is not None or arrived.message is None:
        return arrived.fault or Fault(Code.BAD_REQUEST, "an empty request")
    try:
        return decode_request(arrived.message, arrived.place)
    except Refusal as refusal:
        return refusal.fault


def refused(fault: Fault) -> Said:
    return {"fault": asdict(fault)}, []


def say(shard: Shard, request: Read, arrived: Arrived) -> Said:
    """Answer a request at one shard."""
    try:
        match request:
            case Ask():
                federated = arrived.federated is not None
                return ask(shard, request, arrived.at, federated, repeatable=True)
            case Export():
                return export(shard, request, arrived.at)
            case ListAll(_, dataset):
                return _figures(shard, shard.registry.uids(dataset)), []
            case Describe(_, uid):
                return _figures(shard, {uid: shard.registry.instance(uid)}), []
            case Plugins():
                return {"plugins": _plugins(shard)} if shard.number == 0 else {}, []
            case Sites():
                return {"ok": {}}, []
            case Snapshots():
                return dict(arrived.attached or {}) if shard.number == 0 else {}, []
    except Refusal as refusal:
        return refused(refusal.fault)
    except QueryError as error:
        return refused(Fault(Code.BAD_QUERY, str(error), error.name))
    except Exception as error:  # a defect in a kind must not stop every other synopsis
        _log.exception("no answer to %r", request)
        return refused(internal(error))


def _figures(shard: Shard, uids: dict[str, Instance]) -> dict[str, Any]:
    """Figures of every shard; the definitions, equal in all, from the first only."""
    head: dict[str, Any] = {"figures": shard.figures(uids.values())}
    if shard.number == 0:
        head["synopses"] = [{"uid": uid, **_described(shard, uid, i)} for uid, i in uids.items()]
    return head


def _plugins(shard: Shard) -> list[dict[str, Any]]:
    registry = shard.registry
    return [
        {**registry.shelf.told(version), "synopses": len(registry.users_of(version.kind))}
        for version in registry.shelf.versions.values()
    ]


def _described(shard: Shard, uid: str, instance: Instance) -> dict[str, Any]:
    registry = shard.registry
    told = about(instance)
    reason = registry.shelf.reasons.get(instance.definition.kind)
    if reason is not None:
        told |= {"state": "quarantined", "reason": reason}
    if uid in registry.expiries:
        told["expires"] = registry.expiries[uid]
    window = instance.definition.window
    if window is not None and not window.count:
        told["watermark"] = registry.watermarks.get(instance.definition.dataset, window.clock)
    return told
