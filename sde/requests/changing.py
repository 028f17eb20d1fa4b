"""Requests that change a shard. Whatever is wrong with one becomes a fault in its outcome."""

from __future__ import annotations

from typing import assert_never, get_args

from msgspec.structs import replace

from sde.banks.layer import Kept
from sde.decoding.mapping import Mapper
from sde.plugins.failure import PluginFailure
from sde.records.asked import Asked, Attached
from sde.records.result import Done, Outcome, Refused
from sde.records.watching import Watching
from sde.requests import plugging
from sde.requests.boundary import fault_of
from sde.requests.drift import check_drift
from sde.requests.each import check_each, trial_of
from sde.requests.questions import check_question, stream_of
from sde.requests.states import put_states, read_state
from sde.requests.taking_over import predecessor
from sde.requests.versioning import Versioning, done_with
from sde.shard.shard import Shard
from sde.shard.versions import Versions
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
    Release,
    RemoveSnapshot,
    Restore,
    Snapshot,
    Unplug,
    Unwatch,
    Watch,
)
from sde.wire.sources import Source, Unsource
from sde.wire.windows import SESSION
from synopses.questions import Question

Change = (
    Create
    | Delete
    | Import
    | Restore
    | Snapshot
    | RemoveSnapshot
    | Watch
    | Unwatch
    | Plugin
    | Unplug
    | Release
    | Source
    | Unsource
)
CHANGES = get_args(Change)

_ONCE = (Import, Restore)  # what would count twice, or undo what came since


class Changes:
    """Carries changes out at one shard, in one batch.

    `versions`: where they are kept, None when replaying.
    """

    def __init__(self, shard: Shard, versions: Versions | None, batch: int = 0) -> None:
        self._shard = shard
        self.versioning = Versioning(shard, versions, batch)

    def carry_out(self, request: Change, asked: Asked) -> tuple[Outcome, Asked]:
        """The outcome, and what the log must keep; a repeated id changes nothing."""
        registry = self._shard.registry
        known = registry.outcome(request.id)
        if known is not None:
            return known, asked
        if registry.was_carried_out(request.id):
            return self._carried_out_before(request), asked
        if isinstance(request, Plugin):
            return plugging.wait(registry, request, asked, predecessor(registry, request)), asked
        sizes = registry.shelf.sizes_told
        outcome: Outcome
        try:
            asked = self.versioning.with_news(request, asked)
            if asked.attached.fault is not None:
                self.versioning.use_up(request, asked.attached.highest)
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
            about_versions = isinstance(request, Snapshot | Restore | RemoveSnapshot)
            if isinstance(error, PluginFailure) or about_versions:
                number = self.versioning.used_up(request, error)
                asked = replace(asked, attached=Attached(fault=outcome.fault, highest=number))
        registry.remember(request.id, outcome)
        return outcome, plugging.with_sizes(asked, registry, sizes)

    def _carried_out_before(self, request: Change) -> Done:
        """The reply to a repeat whose outcome is no longer known in full."""
        uid = request.as_uid or request.uid if isinstance(request, Restore) else request.named
        instance = self._shard.registry.find(uid)
        return Done(uid=uid) if instance is None else done_with(uid, instance)

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
                return done_with(request.uid, instance), asked
            case Delete():
                return done_with(request.uid, shard.delete(request.uid)), asked
            case Import():
                return self._import(request), asked
            case Snapshot():
                return self.versioning.take(request, asked)
            case RemoveSnapshot():
                return self.versioning.remove(request, asked), asked
            case Restore():
                return self.versioning.restore(request, asked)
            case Watch():
                return self._watch(request, asked), asked
            case Unwatch():
                shard.registry.unwatch(request.watch)
                return Done(watch=request.watch), asked
            case Unplug():
                return plugging.unplug(shard.registry, request), asked
            case Release():
                return plugging.release(shard.registry, request), asked
            case Source():
                Mapper(request)  # a wrong one is refused here, not record by record
                shard.registry.add_source(request, asked.time)
                warnings = asked.attached.warnings
                return Done(value={"name": request.name}, warnings=warnings), asked
            case Unsource():
                shard.registry.drop_source(request.name)
                return Done(value={"name": request.name}), asked
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
        synopsis = read_state(shard.template(instance), state)
        if stream is not None and not shard.has_room(instance, stream):
            raise Refusal(
                Code.LIMIT_EXCEEDED, f"stream={stream[:80]!r}: no room for another stream", "stream"
            )
        if request.mode == "replace":
            if instance.definition.stream is None and stream is not None:
                shard.forget_stream(instance, stream)
            else:
                shard.empty(instance)
        put_states(shard, instance, [(Kept(stream, request.tuples, 0, state), synopsis)])
        return done_with(request.uid, instance)

    def _watch(self, request: Watch, asked: Asked) -> Done:
        shard = self._shard
        instances = [shard.registry.instance(uid) for uid in request.uids]
        check_each(instances[0].definition, request.each)
        question = trial_of(request, instances[0].definition) if request.each else request.question
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
