"""Watches at one shard: what it contributes to the answers of those that are due.

Watches that ask about the same part of the same synopsis share one partial: its state travels
once, however many ask.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import orjson
from msgspec.structs import replace

from sde.banks.panes import PanedLayer
from sde.plugins.failure import PluginFailure
from sde.records.partial import Estimated, Partial, Subject, WatchEnded, WatchStates
from sde.records.result import Refused, States
from sde.records.watching import Watching
from sde.registry.registry import Instance
from sde.requests.boundary import fault_of
from sde.requests.questions import ask, heading
from sde.shard.shard import Shard, stream_key
from sde.wire import DATASET_SCOPE, Definition, Fault
from sde.wire.windows import SESSION
from synopses import QueryError

Group = list[Watching]  # that share a partial


class Watcher:
    """Makes partials for the watches of one shard in one batch."""

    def __init__(self, shard: Shard, batch: int) -> None:
        self._shard, self._batch = shard, batch

    # -- which ------------------------------------------------------------------------------------

    def changed(self, dataset: str) -> list[str]:
        """The watches that answer when tuples come to this data set."""
        registry = self._shard.registry
        uids = registry.watches.changing()
        return [
            watch
            for uid, watches in uids.items()
            if (found := registry.find(uid)) and found.definition.dataset == dataset
            for watch in watches
        ]

    def closing(self, dataset: str, clock: str, before: int | None, to: int) -> list[Partial]:
        """Partials for windows that close when a data set's watermark moves, before panes go."""
        registry = self._shard.registry
        partials = []
        for uid, watches in registry.watches.closing().items():
            instance = registry.instance(uid)
            layer = self._shard.layer(instance)
            assert isinstance(layer, PanedLayer)
            if (instance.definition.dataset, layer.window.clock) == (dataset, clock):
                for group in self._groups(w for w in watches if self._asks_first(w, uid)):
                    partials += self._closed(group, instance.definition, layer, before, to)
        return partials

    def _asks_first(self, watch: str, uid: str) -> bool:
        return self._shard.registry.watches.get(watch).request.uids[0] == uid

    def _closed(
        self,
        group: Group,
        definition: Definition,
        layer: PanedLayer,
        before: int | None,
        to: int,
    ) -> list[Partial]:
        key = stream_key(definition, definition.stream or group[0].request.stream)
        is_session = layer.window.type == SESSION
        find = layer.closing_sessions if is_session else layer.closing
        partials = []
        for _, end in find(key, before, to):
            number = end if is_session else end // layer.window.slide
            partials += self._partials([_closes(one, number, end) for one in group], None)
        return partials

    # -- what -------------------------------------------------------------------------------------

    def answers(self, watches: Iterable[str]) -> list[Partial]:
        """Partials for watches that are due now."""
        known = self._shard.registry.watches
        running = [
            w for w in dict.fromkeys(watches) if w in known and known.get(w).standing is None
        ]
        return [
            partial
            for group in self._groups(running)
            for partial in self._partials(group, self.moment(group[0]))
        ]

    def _groups(self, watches: Iterable[str]) -> Iterable[Group]:
        """Watches that ask about the same part of the same synopses, together."""
        groups: dict[bytes, Group] = defaultdict(list)
        for watch in watches:
            one = self._shard.registry.watches.get(watch)
            groups[orjson.dumps([one.request.uids, one.request.stream])].append(one)
        return groups.values()

    def moment(self, watching: Watching) -> int | None:
        """The moment that all shards answer for: as far as all of them know."""
        registry = self._shard.registry
        instance = registry.instance(watching.request.uids[0])
        window = instance.definition.window
        if window is None or window.count:
            return None
        known = registry.watermarks.get(instance.definition.dataset, window.clock)
        return registry.time if known is None else known

    def _partials(self, group: Group, at: int | None) -> list[Partial]:
        """One partial for all, or none where another shard answers alone."""
        request = group[0].request
        instances = [self._shard.registry.instance(uid) for uid in request.uids]
        if not self._has_a_part(instances, request.stream):
            return []
        about = orjson.dumps([request.uids, request.stream]).decode()
        span = request.span
        result, answers = self._result(group, at)
        if isinstance(result, States):
            head = heading(self._shard, instances)
            result = replace(result, about=head.about, plugin=head.plugin)
        return [
            WatchStates(
                subject=Subject(f"watch {about}", part=span.end if span else 0),
                shard=self._shard.number,
                of=self._shard.of,
                batch=self._batch,
                time=self._shard.registry.time,
                watches=group,
                span=span,
                result=result,
                answers=answers,
            )
        ]

    def _result(self, group: Group, at: int | None) -> tuple[States | Refused, list[Estimated]]:
        """States for all to be asked of, or, where one shard has it all, the estimates."""
        states, answers = States(), list[Estimated]()
        for watching in group:
            try:
                states = ask(self._shard, watching.request.question, at)
            except QueryError as error:
                answers.append(Estimated(fault=fault_of(error, watching, self._quarantine)))
                continue
            except Exception as error:
                return Refused(fault_of(error, watching, self._quarantine)), []
            if states.estimate is None:
                return states, []
            answers.append(Estimated(estimate=states.estimate))
        return replace(states, estimate=None), answers

    def _quarantine(self, failure: PluginFailure) -> Fault:
        return self._shard.quarantine(failure).fault

    def _has_a_part(self, instances: list[Instance], stream: str | None) -> bool:
        definition = instances[0].definition
        if definition.scope == DATASET_SCOPE or (stream or definition.stream) is None:
            return True
        return any(
            self._shard.owns(i.definition, i.definition.stream or stream or "") for i in instances
        )

    def ended(self) -> list[WatchEnded]:
        """Partials for watches that are over; of shard 0, for all."""
        ended, self._shard.registry.watches.ended = self._shard.registry.watches.ended, []
        if self._shard.number != 0:
            return []
        return [
            WatchEnded(
                subject=Subject(f"ended {watching.id}"),
                shard=0,
                of=self._shard.of,
                batch=self._batch,
                time=self._shard.registry.time,
                watch=watching,
            )
            for watching in ended
        ]


def _closes(watching: Watching, number: int, end: int) -> Watching:
    """A watch as it asks about the window that ends at `end`."""
    request = replace(watching.request, end=end)
    if request.when is not None:
        return replace(watching, request=request)
    return replace(watching, request=request, number=number)
