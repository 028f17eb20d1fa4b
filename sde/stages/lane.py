"""The read lane: questions answered beside the batches, from shards at rest.

    question ──> each shard that matters, locked, copied ──> merged, asked ──> reply

What one shard says and what becomes of it is what maintain and merge do, by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from msgspec.structs import replace

from sde.records.asked import Asked
from sde.records.position import Position
from sde.records.result import Result, States
from sde.registry.registry import Instance
from sde.requests.answering import answer as answer_here
from sde.requests.boundary import fault_of
from sde.requests.completeness import require_none_refused
from sde.requests.gathered import WindowsDiffer
from sde.requests.questions import info_of
from sde.requests.reply_fields import reply_fields
from sde.shard.reader import NotAtRest, ShardReader
from sde.shard.shard import Shard, shard_of
from sde.storage.arena_view import Unreadable
from sde.wire import (
    ALL_STREAMS,
    DATASET_SCOPE,
    Ask,
    Definition,
    Describe,
    Export,
    Fault,
    ListAll,
    ReplyFields,
    Streams,
    answer,
    refusal,
)

Question = Ask | Describe | Export | ListAll | Streams  # that the lane answers
QUESTIONS = (Ask, Describe, Export, ListAll, Streams)
_NOWHERE = Position("", 0, 0)  # it did not come by a topic
_MOST_TURNS = 5


class Lane:
    """Of one engine. `last_over` tells the last batch that has been carried out by all shards.

    Not for several threads at once. It raises Unreadable where the engine has to be asked itself,
    about other sites or plug-ins, and NotAtRest while batches are at work: ask again soon.
    """

    def __init__(
        self, readers: Sequence[ShardReader], site: str, last_over: Callable[[], int]
    ) -> None:
        self._readers, self._site, self._last_over = readers, site, last_over

    def reply(self, request: Question, at_least: int = -1) -> ReplyFields:
        """What the engine would reply to a request in the batch after `batch`, which the reply has.

        `at_least`: a batch that must have been carried out.
        """
        if isinstance(request, Ask) and request.sites:
            raise Unreadable("other sites are asked by the engine")
        at: int | None = None
        for _ in range(_MOST_TURNS):
            results, batch = self._results(request, at, at_least)
            try:
                require_none_refused(results)
                fields = answer(request, batch, self._site, **reply_fields(request, results))
            except WindowsDiffer as differ:
                at = differ.latest
                continue
            except Exception as error:
                fault = fault_of(error, request, _no_plugins)
                fields = refusal(request, fault, batch, self._site)
            return {"uid": request.named or None, **fields}
        raise Unreadable("the shards mean different windows")

    def _results(
        self, request: Question, at: int | None, at_least: int
    ) -> tuple[list[Result], int]:
        """What the shards say, all after the same batch, and which one that is.

        The locks are held together, and none while another is waited for.
        """
        asked = Asked(position=_NOWHERE, time=0, request=request, at=at)
        readers = [self._readers[number] for number in self._numbers(request)]
        results: list[Result] = []
        instances: list[Instance] = []
        with ExitStack() as locks:
            shards = [locks.enter_context(reader.at_rest()) for reader in readers]
            batch = self._common_batch([reader.batch for reader in readers], at_least)
            for reader, shard in zip(readers, shards, strict=True):
                instances = _instances(shard, request)
                reader.prepare(shard, instances)
                results.append(answer_here(shard, request, asked))
        return _headed(results, instances), batch

    def _common_batch(self, batches: list[int], at_least: int) -> int:
        """The batch that all of these shards reflect; NotAtRest if it may be over in some only.

        A shard for which nothing came in a batch does not notice it. The locks are held meanwhile:
        so they reflect a batch that is over, also one that came after their own last.
        """
        first, last, over = min(batches), max(batches), self._last_over()
        for batch in (last, at_least):
            if first < batch and over < batch:
                raise NotAtRest(f"batch {batch} is not over")
        return max(last, over)

    def _numbers(self, request: Question) -> Sequence[int]:
        """The shards that have to do with it: the one of a stream, or all."""
        stream = request.stream if isinstance(request, Ask | Export) else ALL_STREAMS
        if stream == ALL_STREAMS:
            return range(len(self._readers))
        owners = set()
        for definition in self._definitions(request):
            name = definition.stream or stream
            if definition.scope == DATASET_SCOPE or name is None:
                return range(len(self._readers))
            owners.add(shard_of(definition.dataset, name, len(self._readers)))
        return sorted(owners) or range(len(self._readers))

    def _definitions(self, request: Question) -> list[Definition]:
        """Of the synopses, as last seen: which shard has a stream does not change with them."""
        reader = self._readers[0]
        found = _instances(reader.last_seen, request) if reader.last_seen else []
        if not found:
            with reader.at_rest() as shard:
                found = _instances(shard, request)
        return [instance.definition for instance in found]


def _headed(results: list[Result], instances: list[Instance]) -> list[Result]:
    """With the definitions in front, which in a batch the first shard tells for all."""
    first = results[0]
    if isinstance(first, States) and not first.about:
        return [replace(first, about=[info_of(instance) for instance in instances]), *results[1:]]
    return results


def _instances(shard: Shard, request: Question) -> list[Instance]:
    """The synopses that a question is about, as far as there are some."""
    registry = shard.registry
    if isinstance(request, ListAll):
        found = [registry.find(uid) for uid in registry.uids(request.dataset)]
    else:
        uids = request.uids if isinstance(request, Ask) else [request.uid]
        found = [registry.find(uid) for uid in uids]
    instances = [instance for instance in found if instance is not None]
    if any(instance.definition.kind in registry.shelf.versions for instance in instances):
        raise Unreadable("plug-ins run in the engine")
    return instances


def _no_plugins(failure: Exception) -> Fault:
    raise Unreadable("plug-ins run in the engine") from failure
