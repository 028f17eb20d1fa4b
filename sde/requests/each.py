"""Watches that answer for each key, or each stream, that had tuples in a batch.

They are answered in the batch itself: every shard says what it holds of the synopsis and which
keys came, and merge asks for all of them. A shard for which nothing came does not run: if one is
missing that has a part of the synopsis, merge sends the keys round the loop, and all shards answer
for them in the next batch. A batch has `NUMBERS` numbers for answers; where more
keys came than that, the last of them says how many were left out.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from sde.banks.selection import Selection
from sde.records.loop import AskedEach
from sde.records.partial import EachStates, Subject
from sde.records.result import States
from sde.records.watching import Watching
from sde.registry.registry import Instance
from sde.requests.keys import empty_key
from sde.requests.questions import ask, heading
from sde.shard.shard import Shard
from sde.tuples.block import Block, Key
from sde.wire import DATASET_SCOPE, EACH_KEY, Ask, Code, Definition, Fault, Refusal, Watch
from synopses import Estimate, Texts

_log = logging.getLogger(__name__)

NUMBERS = 10_000  # of answers that a watch has in one batch
MOST = NUMBERS - 1  # keys or streams that it answers for


def check_each(definition: Definition, each: str | None) -> None:
    """Refusal if a watch for each key or stream does not fit the synopsis."""
    fits = definition.scope == DATASET_SCOPE or definition.stream is not None
    if each == EACH_KEY and not (fits and definition.key):
        expected = "a synopsis with keys, of a data set or of one stream"
    elif each and each != EACH_KEY and fits:
        expected = 'a synopsis of scope "stream"'
    else:
        return
    raise Refusal(Code.BAD_REQUEST, f"each={each!r}: expected {expected}", "each")


def left_out(count: int) -> Fault:
    """What the last answer of a batch says when keys or streams were left out."""
    return Fault(
        Code.LIMIT_EXCEEDED,
        f"{count} more keys or streams had tuples in this batch: a watch answers for at most "
        f"{MOST} of them at once",
        "each",
    )


def question_for(request: Watch, item: str) -> Ask:
    """What a watch asks about one key or stream."""
    question = request.question
    if request.each == EACH_KEY:
        return replace(question, query={**question.query, "key": item})
    return replace(question, stream=item)


def trial_of(request: Watch, definition: Definition) -> Ask:
    """A question as a watch asks it, about a key or stream that need not be there."""
    return question_for(request, empty_key(definition) if request.each == EACH_KEY else "")


class EachWatcher:
    """Answers such watches at one shard, at the end of a batch."""

    def __init__(self, shard: Shard, batch: int) -> None:
        self._shard, self._batch = shard, batch

    def answers(self, blocks: Sequence[Block], asked: Sequence[AskedEach]) -> list[EachStates]:
        """Partials for all such watches; `blocks` are those of the batch, `asked` came before."""
        partials = []
        watches = self._shard.registry.watches
        for watching in map(watches.get, watches.of_each()):
            instance = self._shard.registry.instance(watching.request.uids[0])
            own = self._meant(instance, blocks)
            try:
                if watching.request.each == EACH_KEY:
                    before = [one for one in asked if one.watch == watching.id]
                    partials += self._keys(watching, instance, own, before)
                else:
                    partials += self._streams(watching, instance, own)
            except Refusal as refusal:  # its plug-in misbehaves
                reason = refusal.fault.message
                _log.warning("no answers to the watch %s: %s", watching.id, reason)
        return partials

    def _meant(self, instance: Instance, blocks: Sequence[Block]) -> list[Block]:
        """The tuples that count for a synopsis."""
        layer, dataset = self._shard.layer(instance), instance.definition.dataset
        meant = [layer.meant(Selection(b, {})).block for b in blocks if b.dataset == dataset]
        return [block for block in meant if len(block)]

    def _keys(
        self,
        watching: Watching,
        instance: Instance,
        blocks: list[Block],
        before: list[AskedEach],
    ) -> list[EachStates]:
        definition, request = instance.definition, watching.request
        if definition.stream is not None and not self._shard.owns(definition, definition.stream):
            return []
        if not blocks and not before:
            return []
        keys, more = _distinct([_keys_of(block, definition.key) for block in blocks])
        if self._shard.number == 0:  # it says for all what all were told
            keys = sorted({*keys, *(key for one in before for key in one.keys)})
            more += sum(one.left_out for one in before)
        states = ask(self._shard, trial_of(request, definition), None)
        answers: list[Estimate] = []
        if states.estimate is not None:  # of one stream: asked here, key by key
            asked = [ask(self._shard, question_for(request, key), None) for key in keys]
            answers = [one.estimate for one in asked if one.estimate is not None]
        return [self._partial(watching, instance, keys, states, answers, more)]

    def _streams(
        self, watching: Watching, instance: Instance, blocks: list[Block]
    ) -> list[EachStates]:
        streams, more = _distinct([(block.stream_hashes, block.streams) for block in blocks])
        request = watching.request
        asked = [ask(self._shard, question_for(request, stream), None) for stream in streams]
        found = [(s, one) for s, one in zip(streams, asked, strict=True) if one.estimate]
        if not found:
            return []
        tuples = sum(one.tuples[0] or 0 for _, one in found)
        items = [stream for stream, _ in found]
        answers = [one.estimate for _, one in found if one.estimate is not None]
        return [self._partial(watching, instance, items, States(tuples=[tuples]), answers, more)]

    def _partial(
        self,
        watching: Watching,
        instance: Instance,
        items: list[str],
        states: States,
        answers: list[Estimate],
        more: int,
    ) -> EachStates:
        head = heading(self._shard, [instance])
        return EachStates(
            subject=Subject(f"each {watching.id}"),
            shard=self._shard.number,
            of=self._shard.of,
            batch=self._batch,
            time=self._shard.registry.time,
            watch=watching,
            items=items,
            states=replace(states, about=head.about, plugin=head.plugin, estimate=None),
            answers=answers,
            left_out=more,
        )


def _keys_of(block: Block, key: Key) -> tuple[NDArray[np.uint64], Texts]:
    """The hashes of the keys, and the keys, each once."""
    hashes, valid = block.keys(key)
    rows = np.arange(len(block)) if valid is None else np.flatnonzero(valid)
    once, first = np.unique(hashes[rows, 0], return_index=True)
    return once, block.texts(key).take(rows[first])


def _distinct(columns: list[tuple[NDArray[np.uint64], Texts]]) -> tuple[list[str], int]:
    """The texts that occur, in order, at most so many, and how many others there are.

    Those with the lowest hashes: all shards leave out the same ones.
    """
    hashes = np.unique(np.concatenate([np.empty(0, np.uint64), *(h for h, _ in columns)]))
    chosen = hashes[:MOST]
    found: set[str] = set()
    for own, texts in columns:
        found.update(texts.take(np.flatnonzero(np.isin(own, chosen))))
    return sorted(found), max(0, len(hashes) - MOST)
