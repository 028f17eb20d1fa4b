"""What one shard has to say to a request: the head of a partial (JSON) and its parts (states)."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from sde.arrived import Arrived
from sde.messages import (
    DATASET_SCOPE,
    Ask,
    Code,
    Create,
    Definition,
    Delete,
    Describe,
    Export,
    Fault,
    ListAll,
    Refusal,
    Request,
    decode_request,
)
from sde.partial import pack_streams
from sde.registry import Instance
from sde.shard import Shard
from synopses import QueryError

_log = logging.getLogger(__name__)

Said = tuple[dict[str, Any], list[bytes]]


def decoded(arrived: Arrived) -> Request | Fault:
    """The request, or why there is none."""
    if arrived.fault is not None or arrived.message is None:
        return arrived.fault or Fault(Code.BAD_REQUEST, "an empty request")
    try:
        return decode_request(arrived.message, arrived.place)
    except Refusal as refusal:
        return refusal.fault


def say(shard: Shard, request: Request | Fault, time: int) -> Said:
    """Carry out a request at one shard. Whatever is wrong with it becomes a fault."""
    if isinstance(request, Fault):
        return _refused(request)
    if isinstance(request, Create | Delete):
        return change(shard, request, time), []
    try:
        match request:
            case Ask():
                return _ask(shard, request)
            case Export():
                return _export(shard, request)
            case ListAll(_, dataset):
                return _figures(shard, shard.registry.uids(dataset)), []
            case Describe(_, uid):
                return _figures(shard, {uid: shard.registry.instance(uid)}), []
    except Refusal as refusal:
        return _refused(refusal.fault)
    except QueryError as error:
        return _refused(Fault(Code.BAD_QUERY, str(error), error.name))
    except Exception as error:  # a defect in a kind must not stop every other synopsis
        _log.exception("no answer to %r", request)
        return _refused(internal(error))


def internal(error: Exception) -> Fault:
    """What a user is told of a defect of ours."""
    return Fault(Code.INTERNAL, f"{type(error).__name__}: {str(error)[:300]}; please report it")


def _refused(fault: Fault) -> Said:
    return {"fault": asdict(fault)}, []


def change(shard: Shard, request: Create | Delete, time: int) -> dict[str, Any]:
    """Carry out a request that changes the registry; a repeated id changes nothing."""
    known = shard.registry.outcome(request.id)
    if known is not None:
        return known
    try:
        if isinstance(request, Create):
            instance = shard.create(request, time)
        else:
            instance = shard.delete(request)
        outcome = {"ok": {"uid": request.uid, **_about(instance)}}
    except Refusal as refusal:
        outcome = {"fault": asdict(refusal.fault)}
    shard.remember(request.id, outcome)
    return outcome


def _about(instance: Instance) -> dict[str, Any]:
    return {**instance.definition.as_json(), "since": instance.since}


def _figures(shard: Shard, uids: dict[str, Instance]) -> dict[str, Any]:
    """Figures of every shard; the definitions, equal in all, from the first only."""
    head: dict[str, Any] = {"figures": shard.figures(uids.values())}
    if shard.number == 0:
        head["synopses"] = [{"uid": uid, **_about(i)} for uid, i in uids.items()]
    return head


def _ask(shard: Shard, request: Ask) -> Said:
    instances = [shard.registry.instance(uid) for uid in request.uids]
    first = instances[0]
    if any(i.bank != first.bank for i in instances):
        raise Refusal(
            Code.BAD_QUERY, "uids: expected synopses of the same kind and parameters", "uids"
        )
    kind = type(shard.template(first))
    question, _ = kind.check_query(request.query, len(instances) - 1)
    head: dict[str, Any] = {"about": [_about(i) for i in instances] if shard.number == 0 else []}
    if question.across:
        if first.definition.scope == DATASET_SCOPE or first.definition.stream is not None:
            raise Refusal(
                Code.BAD_QUERY, f'{question.name} needs a synopsis of scope "stream"', "uid"
            )
        streams, tuples = shard.streams(first)
        return {**head, "tuples": [tuples]}, [pack_streams(streams)]
    asked = [_stream_of(i.definition, request.stream) for i in instances]
    found = [shard.synopsis(i, s) for i, s in zip(instances, asked, strict=True)]
    head["tuples"] = [part[1] if part else None for part in found]
    if len(found) == 1 and found[0] and asked[0] is not None:  # no other shard has any of it
        head["estimate"] = asdict(found[0][0].estimate(request.query))
        return head, []
    return head, [part[0].to_bytes() if part else b"" for part in found]


def _export(shard: Shard, request: Export) -> Said:
    instance = shard.registry.instance(request.uid)
    if request.format != "native" and not hasattr(shard.template(instance), "to_datasketches"):
        raise Refusal(
            Code.BAD_REQUEST,
            f"format={request.format!r}: {instance.definition.kind} has no such form",
            "format",
        )
    stream = _stream_of(instance.definition, request.stream)
    part = shard.synopsis(instance, stream)
    about = [_about(instance)] if shard.number == 0 else []
    head = {"about": about, "tuples": [part[1] if part else None]}
    return head, [part[0].to_bytes() if part else b""]


def _stream_of(definition: Definition, asked: str | None) -> str | None:
    """The stream a question is about, None for the whole data set."""
    if definition.scope == DATASET_SCOPE:
        expected = "no stream: this synopsis is of the whole data set"
        fits = asked is None
    elif definition.stream is None:
        expected = "the name of a stream"
        fits = asked is not None
    else:
        expected = f"{definition.stream!r}, the stream of this synopsis"
        fits = asked in (None, definition.stream)
    if not fits:
        raise Refusal(Code.BAD_QUERY, f"stream={asked!r}: expected {expected}", "stream")
    return definition.stream or asked
