"""The read lane: questions answered beside the batches, from shards at rest.

    question ──> each shard that matters, locked, copied ──> merged, asked ──> reply

What one shard says and what becomes of it is what maintain and merge do, by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from msgspec.structs import replace

from sde.records.asked import Asked
from sde.records.position import Position
from sde.records.result import Result, States
from sde.registry.registry import Instance
from sde.requests.answering import answer as answer_here
from sde.requests.boundary import fault_of
from sde.requests.completeness import require_none_refused
from sde.requests.gathered import Gathered, WindowsDiffer
from sde.requests.questions import check_question, info_of
from sde.requests.reply_fields import of_class, reply_fields
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
_MOST_TRIES = 5


class Lane:
    """Of one engine. `last_over` tells the last batch that has been carried out by all shards.

    Not for several threads at once. It raises Unreadable where the engine has to be asked itself,
    about other sites or plug-ins, and NotAtRest while batches are at work: ask again soon.
    """

    def __init__(
        self, readers: Sequence[ShardReader], site: str, last_over: Callable[[], int]
    ) -> None:
        self._readers, self._site, self._last_over = readers, site, last_over
        self._turn: _Turn | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """What is asked meanwhile shares locks, and the states of synopses that it has in common.

        Batches wait for its end: let it be short, and the next one not begin at once.
        """
        with ExitStack() as locks:
            self._turn = _Turn(self._readers, locks, self._last_over())
            try:
                yield
            finally:
                self._turn = None

    def reply(self, request: Question, at_least: int = -1) -> ReplyFields:
        """What the engine would reply to a request in the batch after `batch`, which the reply has.

        `at_least`: a batch that must have been carried out.
        """
        if isinstance(request, Ask) and request.sites:
            raise Unreadable("other sites are asked by the engine")
        if self._turn is None:
            with self.turn():
                return self.reply(request, at_least)
        at: int | None = None
        for _ in range(_MOST_TRIES):
            shards, batch = self._turn.shards(self._numbers(request), at_least)
            try:
                fields = answer(request, batch, self._site, **self._said(request, shards, at))
            except WindowsDiffer as differ:
                at = differ.latest
                continue
            except Unreadable:
                raise
            except Exception as error:
                fault = fault_of(error, request, _no_plugins)
                fields = refusal(request, fault, batch, self._site)
            return {"uid": request.named or None, **fields}
        raise Unreadable("the shards mean different windows")

    def _said(self, request: Question, shards: list[Shard], at: int | None) -> ReplyFields:
        """What the shards say, together."""
        assert self._turn is not None
        instances = _instances(shards[0], request)
        if not isinstance(request, Ask):
            return reply_fields(request, self._results(request, shards, instances, at))
        about = tuple(request.uids), request.stream, request.span, at
        known = self._turn.gathered.get(about)
        if known is not None and not check_question(shards[0], request, instances).across:
            return known.answer(request)
        results = self._results(request, shards, instances, at)
        if not all(isinstance(each, States) and each.estimate is None for each in results):
            return reply_fields(request, results)
        gathered = Gathered(of_class(States, results), request.span)
        fields = gathered.answer(request)
        if not gathered.is_across(request):
            self._turn.gathered[about] = gathered
        return fields

    def _results(
        self, request: Question, shards: list[Shard], instances: list[Instance], at: int | None
    ) -> list[Result]:
        asked = Asked(position=_NOWHERE, time=0, request=request, at=at)
        results: list[Result] = []
        for shard in shards:
            self._readers[shard.number].prepare(shard, _instances(shard, request))
            results.append(answer_here(shard, request, asked))
        require_none_refused(results)
        return _headed(results, instances)

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
        assert self._turn is not None
        seen = self._readers[0].last_seen
        found = _instances(seen, request) if seen else []
        if not found:
            found = _instances(self._turn.shard(0), request)
        return [instance.definition for instance in found]


class _Turn:
    """Shards that stay at rest until its end. `gathered`: states of all shards, merged, by what
    they are asked for."""

    def __init__(self, readers: Sequence[ShardReader], locks: ExitStack, over: int) -> None:
        self._readers, self._locks, self._over = readers, locks, over
        self._seen: dict[int, Shard | NotAtRest] = {}
        self.gathered: dict[object, Gathered] = {}

    def shard(self, number: int) -> Shard:
        """NotAtRest again without another look if it was not at the first one."""
        found = self._seen.get(number)
        if found is None:
            try:
                found = self._locks.enter_context(self._readers[number].at_rest())
            except NotAtRest as error:
                found = error
            self._seen[number] = found
        if isinstance(found, NotAtRest):
            raise found
        return found

    def shards(self, numbers: Sequence[int], at_least: int) -> tuple[list[Shard], int]:
        """These, all after the same batch, and which one that is.

        The locks are held together, and none while another is waited for.
        """
        shards = [self.shard(number) for number in numbers]
        return shards, self._common_batch([self._readers[n].batch for n in numbers], at_least)

    def _common_batch(self, batches: list[int], at_least: int) -> int:
        """The batch that all of these shards reflect; NotAtRest if it may be over in some only.

        A shard for which nothing came in a batch does not notice it. So they reflect a batch that
        was over before they were locked, also one that came after their own last.
        """
        first, last = min(batches), max(batches)
        for batch in (last, at_least):
            if first < batch and self._over < batch:
                raise NotAtRest(f"batch {batch} is not over")
        return max(last, self._over)


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
