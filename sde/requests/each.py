"""Watches that answer for each key, or each stream, that had tuples in a batch.

They are answered in the batch itself: every shard says what it holds of the synopsis and which
keys came, and merge asks for all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sde.records.arrived import Arrived
from sde.records.partial import Partial
from sde.registry.registry import Instance
from sde.registry.watches import Watching
from sde.requests.questions import ask, heading
from sde.shard.shard import Shard
from sde.tuples.block import Block
from sde.wire import DATASET_SCOPE, EACH_KEY, Ask, Code, Definition, Refusal, Watch
from synopses import Texts

_log = logging.getLogger(__name__)

MOST = 10_000  # keys or streams that a watch answers for in one batch


def check_each(definition: Definition, each: str) -> None:
    """Refusal if a watch for each key or stream does not fit the synopsis."""
    fits = definition.scope == DATASET_SCOPE or definition.stream is not None
    if each == EACH_KEY and not (fits and definition.key):
        expected = "a synopsis with keys, of a data set or of one stream"
    elif each and each != EACH_KEY and fits:
        expected = 'a synopsis of scope "stream"'
    else:
        return
    raise Refusal(Code.BAD_REQUEST, f"each={each!r}: expected {expected}", "each")


def question_for(request: Watch, item: str) -> Ask:
    """What a watch asks about one key or stream."""
    question = request.question
    if request.each == EACH_KEY:
        return replace(question, query={**question.query, "key": item})
    return replace(question, stream=item)


class EachWatcher:
    def __init__(self, shard: Shard, batch: int) -> None:
        self._shard, self._batch = shard, batch

    def answers(self, blocks: Sequence[Block]) -> list[Partial]:
        """Partials for all such watches; `blocks` are those of the batch."""
        said = []
        for watch in self._shard.registry.watches.of_each():
            watching, request = self._shard.registry.watches.get(watch)
            instance = self._shard.registry.instance(request.question.uids[0])
            own = [b for b in blocks if b.dataset == instance.definition.dataset]
            say = self._keys if request.each == EACH_KEY else self._streams
            try:
                said += say(watching, request, instance, own)
            except Refusal as refusal:  # its plug-in misbehaves
                _log.warning("no answers to the watch %s: %s", watch, refusal.fault.message)
        return said

    def _keys(
        self, watching: Watching, request: Watch, instance: Instance, blocks: list[Block]
    ) -> list[Partial]:
        definition = instance.definition
        if definition.stream is not None and not self._shard.owns(definition, definition.stream):
            return []
        keys = _distinct(_some_of_each(block, definition.key) for block in blocks)
        head, parts = ask(self._shard, question_for(request, ""), None)
        if "estimate" in head:  # of one stream: asked here, key by key
            head["estimates"] = [
                ask(self._shard, question_for(request, key), None)[0]["estimate"] for key in keys
            ]
        return [self._partial(watching, instance, {**head, "each": keys}, parts)]

    def _streams(
        self, watching: Watching, request: Watch, instance: Instance, blocks: list[Block]
    ) -> list[Partial]:
        streams = _distinct(block.streams for block in blocks)
        asked = [ask(self._shard, question_for(request, stream), None)[0] for stream in streams]
        found = [(s, head) for s, head in zip(streams, asked, strict=True) if "estimate" in head]
        if not found:
            return []
        told = {
            "each": [stream for stream, _ in found],
            "estimates": [head["estimate"] for _, head in found],
            "tuples": [sum(head["tuples"][0] for _, head in found)],
        }
        return [self._partial(watching, instance, told, [])]

    def _partial(
        self, watching: Watching, instance: Instance, head: dict[str, Any], parts: list[bytes]
    ) -> Partial:
        head = {**head, **heading(self._shard, [instance]), "watch": watching.as_json()}
        arrived = Arrived(f"each {watching.id}", self._shard.registry.time, None)
        return Partial(arrived, self._shard.number, self._shard.of, self._batch, head, parts)


def _some_of_each(block: Block, field: str) -> Texts:
    """Each value of a field once."""
    hashes, valid = block.keys(field)
    rows = np.arange(len(block)) if valid is None else np.flatnonzero(valid)
    first = np.unique(hashes[rows, 0], return_index=True)[1]
    return block.texts(field).take(rows[first])


def _distinct(columns: Iterable[Texts]) -> list[str]:
    """The texts that occur, in order, at most so many."""
    found: set[str] = set()
    for texts in columns:
        found.update(texts)
        if len(found) > MOST:
            break
    return sorted(found)[:MOST]
