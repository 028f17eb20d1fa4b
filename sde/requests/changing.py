"""Requests that change a shard. Whatever is wrong with one becomes a fault in its outcome."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import assert_never

from msgspec.structs import replace

from sde.banks.layer import Kept
from sde.plugins.failure import PluginFailure
from sde.plugins.remote import Remote
from sde.records.asked import Asked, Attached
from sde.records.result import Done, Outcome, Refused
from sde.records.versions import VersionInfo
from sde.records.watching import Watching
from sde.registry.registry import Instance
from sde.requests import plugging
from sde.requests.boundary import fault_of
from sde.requests.drift import check_drift
from sde.requests.each import check_each, question_for
from sde.requests.questions import check_question, info_of, stream_of
from sde.shard.shard import Shard
from sde.shard.versions import Versions, pack_part, read_part
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
from synopses import MergeError, StateError, Synopsis
from synopses.questions import Question

Change = Create | Delete | Import | Restore | Snapshot | Watch | Unwatch | Plugin | Unplug
CHANGES = (Create, Delete, Import, Restore, Snapshot, Watch, Unwatch, Plugin, Unplug)

_ONCE = (Import, Restore)  # what would count twice, or undo what came since


class Changes:
    """Carries changes out at one shard; `versions`: where they are kept, None when replaying."""

    def __init__(self, shard: Shard, versions: Versions | None) -> None:
        self._shard, self._versions = shard, versions
        self._taken: list[VersionInfo] = []  # in this batch

    def carry_out(self, request: Change, asked: Asked) -> tuple[Outcome, Asked]:
        """The outcome, and what the log must keep; a repeated id changes nothing."""
        registry = self._shard.registry
        known = registry.outcome(request.id)
        if known is not None:
            return known, asked
        if registry.was_carried_out(request.id):
            return self._carried_out_before(request), asked
        if isinstance(request, Plugin):
            return plugging.wait(registry, request, asked), asked
        sizes = registry.shelf.sizes_told
        outcome: Outcome
        try:
            asked = self._with_taken(request, asked)
            if asked.attached.fault is not None:
                raise Refusal.of(asked.attached.fault)
            plugging.learn_sizes(registry, asked)
            if isinstance(request, _ONCE):
                registry.check_once()
            outcome, asked = self._carry_out(request, asked)
            if isinstance(request, _ONCE):
                registry.remember_once(request.id, asked.time)
        except ArenaError:  # the disk, not the request: the batch must not count as done
            raise
        except Exception as error:
            outcome = Refused(self._fault_of(error, request))
            # A replay does not try a plug-in again, and finds other files, or none.
            if isinstance(error, PluginFailure) or isinstance(request, Snapshot | Restore):
                asked = replace(asked, attached=Attached(fault=outcome.fault))
        registry.remember(request.id, outcome)
        return outcome, plugging.with_sizes(asked, registry, sizes)

    def _carried_out_before(self, request: Change) -> Done:
        """The reply to a repeat whose outcome is no longer known in full."""
        uid = request.as_uid or request.uid if isinstance(request, Restore) else request.named
        instance = self._shard.registry.find(uid)
        return Done(uid=uid) if instance is None else _done(uid, instance)

    def _fault_of(self, error: Exception, request: Change) -> Fault:
        if isinstance(error, OSError):
            return Fault(Code.INTERNAL, f"the snapshot's files cannot be used: {error}"[:300])
        return fault_of(error, request, lambda failure: self._shard.quarantine(failure).fault)

    def _carry_out(self, request: Change, asked: Asked) -> tuple[Done, Asked]:
        shard = self._shard
        match request:
            case Create():
                instance = shard.create(
                    request.uid,
                    request.definition,
                    asked.time,
                    reuse=request.reuse,
                    lifetime=request.lifetime,
                )
                return _done(request.uid, instance), asked
            case Delete():
                return _done(request.uid, shard.delete(request.uid)), asked
            case Import():
                return self._import(request), asked
            case Snapshot():
                return self._snapshot(request, asked), asked
            case Restore():
                return self._restore(request, asked)
            case Watch():
                return self._watch(request, asked), asked
            case Unwatch():
                shard.registry.unwatch(request.watch)
                return Done(watch=request.watch), asked
            case Unplug():
                return plugging.unplug(shard.registry, request), asked
            case Plugin():
                raise AssertionError("it waits for its examination")
            case never:
                assert_never(never)

    def _import(self, request: Import) -> Done:
        shard = self._shard
        instance = shard.registry.instance(request.uid)
        if instance.definition.window is not None:
            raise Refusal(
                Code.BAD_REQUEST, "uid: a state cannot be put into panes; use snapshots", "uid"
            )
        stream = stream_of(instance.definition, request.stream)
        state = request.state_bytes
        synopsis = _read_state(shard.template(instance), state)
        if stream is not None and not shard.has_room(instance, stream):
            raise Refusal(
                Code.LIMIT_EXCEEDED, f"stream={stream[:80]!r}: no room for another stream", "stream"
            )
        if request.mode == "replace":
            if instance.definition.stream is None and stream is not None:
                shard.forget_stream(instance, stream)
            else:
                shard.empty(instance)
        self._put(instance, [(Kept(stream, request.tuples, 0, state), synopsis)])
        return _done(request.uid, instance)

    def _snapshot(self, request: Snapshot, asked: Asked) -> Done:
        shard = self._shard
        instance = shard.registry.instance(request.uid)
        number = max(shard.registry.next_version(request.uid), asked.attached.highest + 1)
        version = request.version or str(number)
        if self._versions is not None:
            definition, info = instance.definition, info_of(instance)
            taken = VersionInfo(
                uid=request.uid,
                version=version,
                number=number,
                at=asked.time,
                dataset=definition.dataset,
                kind=definition.kind,
                scope=info.scope,
                definition=definition,
                since=instance.since,
                of=shard.of,
                taken_by=asked.attached.place,
            )
            self._versions.save(taken, shard.number, shard.kept(instance))
            self._taken.append(taken)
        named = int(version) if version.isdecimal() and len(version) < 16 else 0
        shard.registry.keep_version(request.uid, max(number, named))
        return replace(_done(request.uid, instance), value=version)

    def _with_taken(self, request: Change, asked: Asked) -> Asked:
        """A restore is about what was taken just before it, which ingest could not find."""
        if isinstance(request, Restore):
            for taken in self._taken:
                if taken.uid == request.uid and request.version in (None, taken.version):
                    asked = replace(asked, attached=Attached(version=taken))
        return asked

    def _restore(self, request: Restore, asked: Asked) -> tuple[Done, Asked]:
        """All shards read all parts before any changes: what is wrong with one changes nothing."""
        shard = self._shard
        found = asked.attached.version
        assert found is not None
        uid = request.as_uid or request.uid
        only_own = True  # parts of this shard
        if asked.attached.parts:  # replayed: what was read then counts, not what lies there now
            parts: Iterable[bytes] = unpack(base64.b64decode(asked.attached.parts))
        elif found in self._taken:  # other shards may not have written their parts yet
            assert self._versions is not None
            parts = [self._versions.part(found, shard.number)]
        else:
            assert self._versions is not None
            parts, only_own = self._versions.parts(found), False
        kinds = shard.registry.shelf
        template = kinds[kinds.resolve(found.definition.kind)](**found.definition.params)
        kept = [
            (one, _read_state(template, one.state)) for part in parts for one in read_part(part)
        ]
        if request.as_uid is not None and shard.registry.find(uid) is not None:
            raise Refusal(Code.SYNOPSIS_EXISTS, f"as={uid[:80]!r}: this uid is taken", "as")
        # The one that runs, if it is defined alike, or a new one.
        instance = shard.create(uid, found.definition, found.since)
        shard.empty(instance)
        mine = [each for each in kept if only_own or self._is_mine(instance, each[0])]
        self._put(instance, mine, only_own)
        logged = base64.b64encode(pack([pack_part(one for one, _ in mine)])).decode()
        done = replace(_done(uid, instance), value=found.version)
        return done, replace(asked, attached=replace(asked.attached, parts=logged))

    def _is_mine(self, instance: Instance, kept: Kept) -> bool:
        stream = instance.definition.stream or kept.stream
        if stream is None:
            return self._shard.number == 0
        return self._shard.owns(instance.definition, stream)

    def _put(
        self, instance: Instance, kept: list[tuple[Kept, Synopsis]], only_own: bool = False
    ) -> None:
        try:
            self._shard.put(instance, kept, only_own)
        except MergeError as error:
            raise Refusal(Code.NOT_MERGEABLE, f"{error}: expected mode replace", "mode") from None

    def _watch(self, request: Watch, asked: Asked) -> Done:
        shard = self._shard
        instances = [shard.registry.instance(uid) for uid in request.uids]
        check_each(instances[0].definition, request.each)
        question = question_for(request, "") if request.each else request.question
        form = check_question(shard, question, instances)
        if question.span is not None:
            raise Refusal(Code.BAD_QUERY, "end, from, to: a watch asks about the present", "end")
        if not form.across:  # what can never be answered is refused here, not at every tick
            empty = shard.template(instances[0])
            empty.estimate(question.query, *(empty.copy() for _ in instances[1:]))
        if request.occasion == ON_CLOSE:
            _check_closing([i.definition for i in instances], form)
        standing = asked.attached.standing
        if standing is not None and instances[0].definition.kind in shard.registry.shelf.versions:
            raise Refusal(
                Code.BAD_REQUEST,
                "sites: expected a kind of the library; of a plug-in several sites can be asked, "
                "but not watched",
                "sites",
            )
        if standing is not None and standing.drift is not None:
            check_drift(type(shard.template(instances[0])), question.query)
        since = max(asked.time, shard.registry.time)
        watching = Watching(
            id=request.id, since=since, request=request, infore=asked.infore, standing=standing
        )
        shard.registry.watch(watching)
        return Done(watch=request.id, uid=request.named)


def _done(uid: str, instance: Instance) -> Done:
    return Done(uid=uid, info=info_of(instance))


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
