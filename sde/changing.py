"""Requests that change a shard. Whatever is wrong with one becomes a fault in its outcome."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

from sde.arrived import Arrived
from sde.framing import pack, unpack
from sde.layer import Kept
from sde.library import Library, definition_of, pack_part, read_part
from sde.messages import (
    Code,
    Create,
    Delete,
    Fault,
    Import,
    Refusal,
    Restore,
    Snapshot,
    Unwatch,
    Watch,
)
from sde.questions import about, check_question, stream_of
from sde.registry import Instance
from sde.shard import Shard
from sde.watches import Watching
from synopses import MergeError, StateError, Synopsis

_log = logging.getLogger(__name__)

Change = Create | Delete | Import | Restore | Snapshot | Watch | Unwatch
CHANGES = (Create, Delete, Import, Restore, Snapshot, Watch, Unwatch)

Outcome = dict[str, Any]


def internal(error: Exception) -> Fault:
    """What a user is told of a defect of ours."""
    return Fault(Code.INTERNAL, f"{type(error).__name__}: {str(error)[:300]}; please report it")


class Changes:
    """Carries changes out at one shard; `library` is where snapshots are, None when replaying."""

    def __init__(self, shard: Shard, library: Library | None) -> None:
        self._shard, self._library = shard, library

    def carry_out(self, request: Change, arrived: Arrived) -> tuple[Outcome, Arrived]:
        """The outcome, and what the log must keep; a repeated id changes nothing."""
        known = self._shard.registry.outcome(request.id)
        if known is not None:
            return known, arrived
        try:
            done, arrived = self._done(request, arrived)
            outcome: Outcome = {"ok": done}
        except Refusal as refusal:
            outcome = {"fault": asdict(refusal.fault)}
        except Exception as error:  # a defect must not stop every other synopsis
            _log.exception("%r was not carried out", request)
            outcome = {"fault": asdict(internal(error))}
        self._shard.registry.remember(request.id, outcome)
        return outcome, arrived

    def _done(self, request: Change, arrived: Arrived) -> tuple[dict[str, Any], Arrived]:
        shard = self._shard
        match request:
            case Create():
                instance, _ = shard.create(request, arrived.time)
                return _told(request.uid, instance), arrived
            case Delete():
                return _told(request.uid, shard.delete(request.uid)), arrived
            case Import():
                return self._import(request), arrived
            case Snapshot():
                return self._snapshot(request, arrived), arrived
            case Restore():
                return self._restore(request, arrived)
            case Watch():
                return self._watch(request, arrived), arrived
            case Unwatch():
                shard.registry.unwatch(request.watch)
                return {"watch": request.watch}, arrived

    def _import(self, request: Import) -> dict[str, Any]:
        shard = self._shard
        instance = shard.registry.instance(request.uid)
        if instance.definition.window is not None:
            raise Refusal(
                Code.BAD_REQUEST, "uid: a state cannot be put into panes; use snapshots", "uid"
            )
        stream = stream_of(instance.definition, request.stream)
        synopsis = _read_state(shard, instance, request.state)
        if request.replace:
            if instance.definition.stream is None and stream is not None:
                shard.forget_stream(instance, stream)
            else:
                shard.empty(instance)
        kept = Kept(stream, request.tuples, 0, request.state)
        self._put(instance, [(kept, synopsis)])
        return _told(request.uid, instance)

    def _snapshot(self, request: Snapshot, arrived: Arrived) -> dict[str, Any]:
        shard = self._shard
        instance = shard.registry.instance(request.uid)
        number = shard.registry.next_version(request.uid)
        version = request.version or str(number)
        if self._library is not None:
            kept_of = {
                "uid": request.uid,
                "version": version,
                "at": arrived.time,
                "dataset": instance.definition.dataset,
                "kind": instance.definition.kind,
                "scope": instance.definition.as_json()["scope"],
                "definition": asdict(instance.definition),
                "since": instance.since,
            }
            self._library.save(kept_of, shard.number, shard.of, shard.kept(instance))
        return {**_told(request.uid, instance), "value": version}

    def _restore(self, request: Restore, arrived: Arrived) -> tuple[dict[str, Any], Arrived]:
        shard = self._shard
        found = arrived.attached or {}
        if "fault" in found:
            raise Refusal(Code(found["fault"]["code"]), *list(found["fault"].values())[1:])
        uid = request.as_uid or request.uid
        if "parts" in found:  # replayed: what was read then counts, not what lies there now
            parts: Iterable[bytes] = unpack(base64.b64decode(found["parts"]))
        else:
            assert self._library is not None
            parts = list(self._library.parts(found))
        kept = [one for part in parts for one in read_part(part)]
        instance = self._restored(uid, request, found, arrived.time)
        mine = list(self._mine(instance, kept))
        shard.empty(instance)
        self._put(instance, [(k, _read_state(shard, instance, k.state)) for k in mine])
        attached = {**found, "parts": base64.b64encode(pack([pack_part(mine)])).decode()}
        told = {**_told(uid, instance), "value": found["version"]}
        return told, replace(arrived, attached=attached)

    def _restored(self, uid: str, request: Restore, found: dict[str, Any], time: int) -> Instance:
        """The synopsis a version goes to: the one that runs, if it is defined alike, or a new."""
        create = Create(request.id, uid, definition_of(found))
        if request.as_uid is not None and self._shard.registry.find(uid) is not None:
            raise Refusal(Code.SYNOPSIS_EXISTS, f"as={uid[:80]!r}: this uid is taken", "as")
        return self._shard.create(create, time)[0]

    def _mine(self, instance: Instance, kept: list[Kept]) -> Iterator[Kept]:
        definition = instance.definition
        for one in kept:
            stream = definition.stream or one.stream
            if self._shard.number == 0 if stream is None else self._shard.owns(definition, stream):
                yield one

    def _put(self, instance: Instance, kept: list[tuple[Kept, Synopsis]]) -> None:
        try:
            self._shard.put(instance, kept)
        except MergeError as error:
            raise Refusal(Code.NOT_MERGEABLE, f"{error}: expected mode replace", "mode") from None

    def _watch(self, request: Watch, arrived: Arrived) -> dict[str, Any]:
        shard = self._shard
        instances = [shard.registry.instance(uid) for uid in request.question.uids]
        check_question(shard, request.question, instances)
        if request.on == "close" and instances[0].definition.window is None:
            raise Refusal(Code.BAD_REQUEST, 'on="close": expected a synopsis with a window', "on")
        assert arrived.message is not None
        message = {**arrived.message, "id": request.id}
        held = Watching(request.id, arrived.place, max(arrived.time, shard.registry.time), message)
        shard.registry.watch(asdict(held))
        return {"watch": request.id, "uid": ",".join(request.question.uids)}


def _told(uid: str, instance: Instance) -> dict[str, Any]:
    return {"uid": uid, **about(instance)}


def _read_state(shard: Shard, instance: Instance, state: bytes) -> Synopsis:
    template = shard.template(instance)
    try:
        synopsis = type(template).from_bytes(state)
        if synopsis.params != template.params:
            raise StateError(f"a state of {synopsis!r}, expected {template!r}")
    except StateError as error:
        raise Refusal(Code.BAD_STATE, f"state: {error}", "state") from None
    return synopsis
