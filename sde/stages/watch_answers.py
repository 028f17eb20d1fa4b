"""merge, of watches: the partials of those that are due become their numbered answers."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from sde.records.loop import Answered, AskedEach
from sde.records.outgoing import LARGEST_LOOP, Outgoing
from sde.records.partial import EachStates, Estimated, WatchEnded, WatchStates
from sde.records.result import States
from sde.records.watching import Watching
from sde.requests.boundary import Quarantine, fault_of
from sde.requests.completeness import require_none_refused
from sde.requests.deciding import decide
from sde.requests.each import MOST, NUMBERS, left_out, question_for
from sde.requests.gathered import Gathered
from sde.stages.writer import ReplyWriter
from sde.wire import DATASET_SCOPE, Code, Refusal, ReplyFields, watch_answer
from synopses import Estimate


class WatchAnswers:
    """The answers of one batch. `quarantine` is told of plug-ins that misbehave."""

    def __init__(self, writer: ReplyWriter, quarantine: Quarantine) -> None:
        self._writer, self._quarantine = writer, quarantine
        self._answered: dict[str, Watching] = {}  # as their last answer here left them

    def on_due(self, partials: list[WatchStates]) -> Iterator[Outgoing]:
        for place, watching in enumerate(partials[0].watches):
            before = self._answered.get(watching.id)
            if before is not None:
                number, last, holds = before.number, before.last, before.holds
                watching = replace(watching, number=number, last=last, holds=holds)
            try:
                yield from self._answer(watching, partials, place)
            except Exception as error:
                fault = fault_of(error, watching, self._quarantine)
                if fault.code != Code.UNKNOWN_STREAM:  # it may still come
                    yield self._message(watching, watching.number, fault.as_json())

    def _answer(
        self, watching: Watching, partials: list[WatchStates], place: int
    ) -> Iterator[Outgoing]:
        results = [partial.result for partial in partials]
        require_none_refused(results)
        states = [result for result in results if isinstance(result, States)]
        gathered = Gathered(states, partials[0].span)
        question = watching.request.question
        known = next((p.answers[place] for p in partials if p.answers), None)
        estimate = gathered.estimate(question) if known is None else _found(known)
        fields = gathered.fields_with(question, estimate)
        decision = decide(watching, fields["value"])
        if decision is None:
            return
        if decision.holds is not None:
            fields["holds"] = decision.holds
        fields |= {"batch": partials[0].batch, "site": self._writer.site}
        yield self._message(watching, decision.number, {"status": "ok", **fields})
        if decision.remember:
            number, value, holds = decision.number, fields["value"], decision.holds
            self._answered[watching.id] = replace(watching, number=number, last=value, holds=holds)
            answered = Answered(watch=watching.id, number=number, value=value, holds=holds)
            told = self._writer.to_loop(answered)
            if len(told.value) > LARGEST_LOOP:  # its next answer counts as a change then
                told = self._writer.to_loop(replace(answered, value=None))
            yield told

    def on_each(self, partials: list[EachStates]) -> Iterator[Outgoing]:
        """One answer for each key or stream that any shard names; the last may say of others."""
        watching = partials[0].watch
        if _lacks_a_shard(partials):
            yield self._ask_all(partials)
            return
        gathered = Gathered([partial.states for partial in partials], None)
        about = {"batch": partials[0].batch, "site": self._writer.site}
        estimates: dict[str, Estimate | None] = {}
        for partial in partials:
            unknown: list[Estimate | None] = [None] * len(partial.items)
            estimates |= zip(partial.items, partial.answers or unknown, strict=True)
        items = sorted(estimates.items())
        first = partials[0].batch * NUMBERS + 1
        for number, (item, estimate) in enumerate(items[:MOST], first):
            question = question_for(watching.request, item)
            try:
                found = gathered.estimate(question) if estimate is None else estimate
                answer = gathered.fields_with(question, found)
                fields = {"status": "ok", "key": item, **about, **answer}
            except Exception as error:
                fields = fault_of(error, watching, self._quarantine).as_json()
            yield self._message(watching, number, fields)
        more = len(items[MOST:]) + sum(partial.left_out for partial in partials)
        if more:
            fields = {**left_out(more).as_json(), "left_out": more, **about}
            yield self._message(watching, first + MOST, fields)

    def _ask_all(self, partials: list[EachStates]) -> Outgoing:
        """All shards shall answer for these keys in the next batch."""
        keys = sorted({item for partial in partials for item in partial.items})
        more = sum(partial.left_out for partial in partials)
        while True:
            asked = AskedEach(watch=partials[0].watch.id, keys=keys, left_out=more)
            told = self._writer.to_loop(asked)
            if len(told.value) <= LARGEST_LOOP:
                return told
            more += len(keys) - len(keys) // 2
            keys = keys[: len(keys) // 2]

    def on_ended(self, partial: WatchEnded) -> Outgoing:
        watching = partial.watch
        fields = {
            "id": f"{watching.id}#ended",
            "status": "ok",
            "ended": "its synopsis was deleted, or somebody sent unwatch",
            "batch": partial.batch,
            "site": self._writer.site,
        }
        return self._message(watching, watching.number, fields)

    def _message(self, watching: Watching, number: int, fields: ReplyFields) -> Outgoing:
        uid = watching.request.named
        reply = {"uid": uid, **watch_answer(watching.id, number), **fields}
        return self._writer.reply(reply, uid, watching.infore, watching.since)


def _lacks_a_shard(partials: list[EachStates]) -> bool:
    """Whether a shard that has a part of a whole data set did not run."""
    first = partials[0]
    is_whole = first.states.about[0].scope == DATASET_SCOPE
    return is_whole and len(partials) < first.of


def _found(known: Estimated) -> Estimate:
    """The estimate that a shard made; Refusal if it could not."""
    if known.fault is not None:
        raise Refusal.of(known.fault)
    assert known.estimate is not None
    return known.estimate
