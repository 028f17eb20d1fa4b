"""Requests that change a shard. Whatever is wrong with one becomes a fault in its outcome."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from sde.banks.layer import Kept
from sde.plugins.failure import PluginFailure
from sde.plugins.remote import Remote
from sde.records.arrived import Arrived
from sde.registry.registry import Instance
from sde.registry.watches import Watching
from sde.requests import plugging
from sde.requests.drift import check_drift
from sde.requests.each import check_each, question_for
from sde.requests.questions import about, check_question, stream_of
from sde.shard.shard import Shard
from sde.shard.versions import Library, definition_of, pack_part, read_part
from sde.storage.arena import ArenaError
from sde.wire import (
    DATASET_SCOPE,
    ON_CLOSE,
    Code,
    Create,
    Definition,
    Delete,
    Fault,
    Import,
    Plugin,
    Refusal,
    Restore,
    Snapshot,
    Unplug,
    Unwatch,
    Watch,
)
from sde.wire.framing import pack, unpack
from sde.wire.windows import SESSION
from synopses import MergeError, QueryError, StateError, Synopsis
from synopses.questions import Question

_log = logging.getLogger(__name__)

Change = Create | Delete | Import | Restore | Snapshot | Watch | Unwatch | Plugin | Unplug
CHANGES = (Create, Delete, Import, Restore, Snapshot, Watch, Unwatch, Plugin, Unplug)

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
        registry = self._shard.registry
        known = registry.outcome(request.id)
        if known is not None:
            return known, arrived
        if isinstance(request, Plugin):
            return plugging.wait(registry, request, arrived), arrived
        sizes = registry.shelf.sizes_told
        try:
            _raise_attached(arrived)
            plugging.learn(registry, arrived)
            done, arrived = self._done(request, arrived)
            outcome: Outcome = {"ok": done}
        except ArenaError:  # the disk, not the request: the batch must not count as done
            raise
        except Refusal as refusal:
            outcome = {"fault": asdict(refusal.fault)}
        except PluginFailure as failure:
            outcome = {"fault": asdict(self._shard.quarantine(failure).fault)}
            arrived = replace(arrived, attached=outcome)  # a replay does not try it again
        except QueryError as error:
            outcome = {"fault": asdict(Fault(Code.BAD_QUERY, str(error), error.name))}
        except OSError as error:
            fault = Fault(Code.INTERNAL, f"the snapshot's files cannot be used: {error}"[:300])
            outcome = {"fault": asdict(fault)}
        except Exception as error:  # a defect must not stop every other synopsis
            _log.exception("%r was not carried out", request)
            outcome = {"fault": asdict(internal(error))}
        if "fault" in outcome and isinstance(request, Snapshot | Restore):
            arrived = replace(arrived, attached=outcome)  # a replay finds other files, or none
        registry.remember(request.id, outcome)
        return outcome, plugging.with_sizes(arrived, registry, sizes)

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
            case Unplug():
                return plugging.unplug(shard.registry, request), arrived
            case Plugin():
                raise AssertionError("it waits for its examination")

    def _import(self, request: Import) -> dict[str, Any]:
        shard = self._shard
        instance = shard.registry.instance(request.uid)
        if instance.definition.window is not None:
            raise Refusal(
                Code.BAD_REQUEST, "uid: a state cannot be put into panes; use snapshots", "uid"
            )
        stream = stream_of(instance.definition, request.stream)
        synopsis = _read_state(shard.template(instance), request.state)
        if stream is not None and not shard.has_room(instance, stream):
            raise Refusal(
                Code.LIMIT_EXCEEDED, f"stream={stream[:80]!r}: no room for another stream", "stream"
            )
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
        there = (arrived.attached or {}).get("highest", 0)  # also of another engine
        number = max(shard.registry.next_version(request.uid), there + 1)
        version = request.version or str(number)
        if self._library is not None:
            kept_of = {
                "uid": request.uid,
                "version": version,
                "number": number,
                "at": arrived.time,
                "dataset": instance.definition.dataset,
                "kind": instance.definition.kind,
                "scope": instance.definition.as_json()["scope"],
                "definition": asdict(instance.definition),
                "since": instance.since,
            }
            self._library.save(kept_of, shard.number, shard.of, shard.kept(instance))
        taken = int(version) if version.isdecimal() and len(version) < 16 else 0
        shard.registry.keep_version(request.uid, max(number, taken))
        return {**_told(request.uid, instance), "value": version}

    def _restore(self, request: Restore, arrived: Arrived) -> tuple[dict[str, Any], Arrived]:
        """All shards read all parts before any changes: what is wrong with one changes nothing."""
        shard = self._shard
        found = arrived.attached
        assert found is not None
        uid = request.as_uid or request.uid
        if "parts" in found:  # replayed: what was read then counts, not what lies there now
            parts: Iterable[bytes] = unpack(base64.b64decode(found["parts"]))
        else:
            assert self._library is not None
            parts = self._library.parts(found)
        definition, kinds = definition_of(found), shard.registry.shelf
        template = kinds[kinds.resolve(definition.kind)](**definition.params)
        kept = [
            (one, _read_state(template, one.state)) for part in parts for one in read_part(part)
        ]
        instance = self._restored(uid, request, found)
        shard.empty(instance)
        mine = [(one, synopsis) for one, synopsis in kept if self._is_mine(instance, one)]
        self._put(instance, mine)
        logged = pack([pack_part(one for one, _ in mine)])
        attached = {**found, "parts": base64.b64encode(logged).decode()}
        told = {**_told(uid, instance), "value": found["version"]}
        return told, replace(arrived, attached=attached)

    def _restored(self, uid: str, request: Restore, found: dict[str, Any]) -> Instance:
        """The synopsis a version goes to: the one that runs, if it is defined alike, or a new."""
        create = Create(request.id, uid, definition_of(found))
        if request.as_uid is not None and self._shard.registry.find(uid) is not None:
            raise Refusal(Code.SYNOPSIS_EXISTS, f"as={uid[:80]!r}: this uid is taken", "as")
        return self._shard.create(create, found["since"])[0]

    def _is_mine(self, instance: Instance, kept: Kept) -> bool:
        stream = instance.definition.stream or kept.stream
        if stream is None:
            return self._shard.number == 0
        return self._shard.owns(instance.definition, stream)

    def _put(self, instance: Instance, kept: list[tuple[Kept, Synopsis]]) -> None:
        try:
            self._shard.put(instance, kept)
        except MergeError as error:
            raise Refusal(Code.NOT_MERGEABLE, f"{error}: expected mode replace", "mode") from None

    def _watch(self, request: Watch, arrived: Arrived) -> dict[str, Any]:
        shard = self._shard
        instances = [shard.registry.instance(uid) for uid in request.question.uids]
        check_each(instances[0].definition, request.each)
        asked = question_for(request, "") if request.each else request.question
        question = check_question(shard, asked, instances)
        if asked.span is not None:
            raise Refusal(Code.BAD_QUERY, "end, from, to: a watch asks about the present", "end")
        if not question.across:  # what can never be answered is refused here, not at every tick
            empty = shard.template(instances[0])
            empty.estimate(asked.query, *(empty.copy() for _ in instances[1:]))
        if request.on == ON_CLOSE:
            _check_closing([i.definition for i in instances], question)
        standing = (arrived.attached or {}).get("standing")
        if standing is not None and instances[0].definition.kind in shard.registry.shelf.versions:
            raise Refusal(
                Code.BAD_REQUEST,
                "sites: expected a kind of the library; of a plug-in several sites can be asked, "
                "but not watched",
                "sites",
            )
        if standing is not None and standing["drift"] is not None:
            check_drift(type(shard.template(instances[0])), asked.query)
        assert arrived.message is not None
        message = {**arrived.message, "id": request.id}
        since = max(arrived.time, shard.registry.time)
        held = Watching(
            request.id, arrived.place, since, message, infore=arrived.infore, standing=standing
        )
        shard.registry.watch(held.as_json())
        return {"watch": request.id, "uid": ",".join(request.question.uids)}


def _told(uid: str, instance: Instance) -> dict[str, Any]:
    return {"uid": uid, **about(instance)}


def _check_closing(definitions: list[Definition], question: Question) -> None:
    """Refusal if there is no moment at which all shards know that a window closed."""
    first = definitions[0]
    if question.across:
        expected = "a question about one stream or data set"
    elif first.window is None or first.window.count:
        expected = "a synopsis with a window by time"
    elif any((d.dataset, d.window) != (first.dataset, first.window) for d in definitions):
        expected = "synopses of one data set with the same window"
    elif first.window.type == SESSION and first.scope == DATASET_SCOPE:
        expected = "sessions of a stream: those of a data set end in no shard alone"
    else:
        return
    raise Refusal(Code.BAD_REQUEST, f'on="close": expected {expected}', "on")


def _raise_attached(arrived: Arrived) -> None:
    fault = (arrived.attached or {}).get("fault")
    if fault is not None:
        raise Refusal.of(Fault.from_record(fault))


def _read_state(template: Synopsis, state: bytes) -> Synopsis:
    try:
        synopsis = type(template).from_bytes(state)
        if synopsis.params != template.params:
            raise StateError(f"a state of {synopsis!r}, expected {template!r}")
        if isinstance(synopsis, Remote):
            synopsis.verify()
    except StateError as error:
        raise Refusal(Code.BAD_STATE, f"state: {error}", "state") from None
    return synopsis
