"""Watches at one shard: what it has to say to those that are due.

Watches that ask about the same part of the same synopsis share one partial: its state travels
once, however many ask.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import orjson

from sde.banks.panes import PanedLayer
from sde.records.arrived import Arrived
from sde.records.partial import Partial
from sde.registry.registry import Instance
from sde.registry.watches import Watching
from sde.requests.changing import internal
from sde.requests.questions import Said, ask, heading
from sde.shard.shard import Shard, stream_key
from sde.wire import DATASET_SCOPE, Definition, Refusal, Span, Watch
from sde.wire.windows import SESSION
from synopses import QueryError

_log = logging.getLogger(__name__)

Group = list[tuple[Watching, Watch]]  # that share a partial


class Watcher:
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
        """What is to be said when a data set's watermark moves, before old panes go."""
        registry = self._shard.registry
        said = []
        for uid, watches in registry.watches.closing().items():
            instance = registry.instance(uid)
            layer = self._shard.layer(instance)
            assert isinstance(layer, PanedLayer)
            if (instance.definition.dataset, layer.window.clock) == (dataset, clock):
                for group in self._groups(w for w in watches if self._asks_first(w, uid)):
                    said += self._closed(group, instance.definition, layer, before, to)
        return said

    def _asks_first(self, watch: str, uid: str) -> bool:
        return self._shard.registry.watches.get(watch)[1].question.uids[0] == uid

    def _closed(
        self,
        group: Group,
        definition: Definition,
        layer: PanedLayer,
        before: int | None,
        to: int,
    ) -> list[Partial]:
        key = stream_key(definition, definition.stream or group[0][1].question.stream)
        is_session = layer.window.type == SESSION
        find = layer.closing_sessions if is_session else layer.closing
        said = []
        for _, end in find(key, before, to):
            number = end if is_session else end // layer.window.slide
            said += self._say([_closes(*one, number, end) for one in group], None)
        return said

    # -- what -------------------------------------------------------------------------------------

    def answers(self, watches: Iterable[str]) -> list[Partial]:
        """Partials for watches that are due now."""
        known = self._shard.registry.watches
        running = [
            w for w in dict.fromkeys(watches) if w in known and known.get(w)[0].standing is None
        ]
        return [
            partial
            for group in self._groups(running)
            for partial in self._say(group, self.moment(group))
        ]

    def _groups(self, watches: Iterable[str]) -> Iterable[Group]:
        """Watches that ask about the same part of the same synopses, together."""
        groups: dict[bytes, Group] = defaultdict(list)
        for watch in watches:
            one = self._shard.registry.watches.get(watch)
            question = one[1].question
            groups[orjson.dumps([question.uids, question.stream])].append(one)
        return groups.values()

    def moment(self, group: Group) -> int | None:
        """The moment that all shards answer for: as far as all of them know."""
        registry = self._shard.registry
        instance = registry.instance(group[0][1].question.uids[0])
        window = instance.definition.window
        if window is None or window.count:
            return None
        known = registry.watermarks.get(instance.definition.dataset, window.clock)
        return registry.time if known is None else known

    def _say(self, group: Group, at: int | None) -> list[Partial]:
        """One partial for all, or none where another shard answers alone."""
        question = group[0][1].question
        instances = [self._shard.registry.instance(uid) for uid in question.uids]
        if not self._has_a_say(instances, question.stream):
            return []
        about_what = orjson.dumps([question.uids, question.stream]).decode()
        place = f"watch {about_what}\n{question.span.end if question.span else 0:020}"
        head, parts = self._said(group, at)
        head |= heading(self._shard, instances)
        head["watches"] = [watching.as_json() for watching, _ in group]
        head["span"] = question.span and asdict(question.span)
        arrived = Arrived(place, self._shard.registry.time, None)
        return [Partial(arrived, self._shard.number, self._shard.of, self._batch, head, parts)]

    def _said(self, group: Group, at: int | None) -> Said:
        """States for all to be asked of, or, where one shard has it all, the estimates."""
        told: dict[str, Any] = {}
        estimates: list[dict[str, Any]] = []
        for watching, request in group:
            try:
                head, parts = ask(self._shard, request.question, at)
            except Refusal as refusal:
                return {"fault": asdict(refusal.fault)}, []
            except QueryError as error:
                estimates.append({"error": str(error), "field": error.name})
                continue
            except Exception as error:  # a defect must not stop every other synopsis
                _log.exception("no answer to the watch %s", watching.id)
                return {"fault": asdict(internal(error))}, []
            if "estimate" not in head:
                return head, parts
            estimates.append(head.pop("estimate"))
            told = head
        return {**told, "estimates": estimates}, []

    def _has_a_say(self, instances: list[Instance], stream: str | None) -> bool:
        definition = instances[0].definition
        if definition.scope == DATASET_SCOPE or (stream or definition.stream) is None:
            return True
        return any(
            self._shard.owns(i.definition, i.definition.stream or stream or "") for i in instances
        )

    def ended(self) -> list[Partial]:
        """Word to those whose watch is over; one shard says it for all."""
        ended, self._shard.registry.watches.ended = self._shard.registry.watches.ended, []
        if self._shard.number != 0:
            return []
        return [
            Partial(
                Arrived(f"ended {w.id}", self._shard.registry.time, None),
                0,
                self._shard.of,
                self._batch,
                {"ended": w.as_json()},
            )
            for w in ended
        ]


def _closes(watching: Watching, request: Watch, number: int, end: int) -> tuple[Watching, Watch]:
    """A watch as it asks about the window that ends at `end`."""
    asked = replace(request, question=replace(request.question, span=Span(end)))
    return (watching if request.when else replace(watching, number=number)), asked
