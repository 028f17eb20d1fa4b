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

from sde.arrived import Arrived
from sde.changing import internal
from sde.messages import DATASET_SCOPE, Refusal, Span, Watch
from sde.messages.windows import SESSION
from sde.partial import Partial
from sde.questions import Said, about, ask
from sde.registry import Instance
from sde.shard import Shard, stream_key
from sde.watches import Watching
from sde.windows.panes import PanedLayer
from synopses import QueryError

_log = logging.getLogger(__name__)


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
            instance = registry.find(uid)
            if instance is None or instance.definition.dataset != dataset:
                continue
            layer = self._shard.layer(instance)
            if isinstance(layer, PanedLayer) and layer.window.clock == clock:
                for watch in watches:
                    said += self._closed(watch, instance, layer, before, to)
        return said

    def _closed(
        self, watch: str, instance: Instance, layer: PanedLayer, before: int | None, to: int
    ) -> list[Partial]:
        watching, request = self._shard.registry.watches.get(watch)
        stream = instance.definition.stream or request.question.stream
        key = stream_key(instance.definition, stream)
        is_session = layer.window.type == SESSION
        find = layer.closing_sessions if is_session else layer.closing
        said = []
        for _, end in find(key, before, to):
            number = end if is_session else end // layer.window.slide
            asked = replace(request.question, span=Span(end))
            numbered = replace(watching, number=number if request.when is None else watching.number)
            said += self._say([(numbered, replace(request, question=asked))], None)
        return said

    # -- what -------------------------------------------------------------------------------------

    def answers(self, watches: Iterable[str]) -> list[Partial]:
        """Partials for watches that are due now."""
        registry = self._shard.registry
        groups: dict[bytes, list[tuple[Watching, Watch]]] = defaultdict(list)
        for watch in dict.fromkeys(watches):
            if watch in registry.watches:
                one = registry.watches.get(watch)
                question = one[1].question
                groups[orjson.dumps([question.uids, question.stream])].append(one)
        return [
            partial for group in groups.values() for partial in self._say(group, self._at(group))
        ]

    def _at(self, group: list[tuple[Watching, Watch]]) -> int | None:
        """The moment that all shards answer for: as far as all of them know."""
        registry = self._shard.registry
        instance = registry.instance(group[0][1].question.uids[0])
        window = instance.definition.window
        if window is None or window.count:
            return None
        known = registry.watermarks[instance.definition.dataset].get(window.clock)
        return registry.time if known is None else known

    def _say(self, group: list[tuple[Watching, Watch]], at: int | None) -> list[Partial]:
        """One partial for all, or none where another shard answers alone."""
        question = group[0][1].question
        instances = [self._shard.registry.instance(uid) for uid in question.uids]
        if not self._has_a_say(instances, question.stream):
            return []
        place = orjson.dumps(["watch", question.uids, question.stream, question.span]).decode()
        head, parts = self._said(group, at)
        head["about"] = [about(i) for i in instances]
        head["watches"] = [asdict(watching) for watching, _ in group]
        head["span"] = question.span and asdict(question.span)
        arrived = Arrived(place, self._shard.registry.time, None)
        return [Partial(arrived, self._shard.number, self._shard.of, self._batch, head, parts)]

    def _said(self, group: list[tuple[Watching, Watch]], at: int | None) -> Said:
        try:
            head, parts = ask(self._shard, group[0][1].question, at)
        except Refusal as refusal:
            return {"fault": asdict(refusal.fault)}, []
        except Exception as error:  # a defect must not stop every other synopsis
            _log.exception("no answer to the watch %s", group[0][0].id)
            return {"fault": asdict(internal(error))}, []
        if "estimate" in head:
            head["estimates"] = [head.pop("estimate"), *map(self._estimate, group[1:])]
        return head, parts

    def _estimate(self, one: tuple[Watching, Watch]) -> dict[str, Any]:
        try:
            estimate: dict[str, Any] = ask(self._shard, one[1].question, None)[0]["estimate"]
        except QueryError as error:
            return {"error": str(error)}
        return estimate

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
                {"ended": asdict(w)},
            )
            for w in ended
        ]
