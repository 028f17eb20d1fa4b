"""Tables: a row for each stream of a synopsis, with an answer about it, or with its figures.

At scope "stream" a stream is in one shard alone, so each shard answers for its own and no state
travels. Rows are in the order of names, or the largest values first. A shard gives as many as the
whole reply may have; merge leaves out those that are too many.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from sde.banks.intervals import Interval, NotKept
from sde.banks.layer import Held, Layer, StreamsHere
from sde.banks.panes import PanedLayer
from sde.records.left_out import LeftOut
from sde.records.result import Table
from sde.registry.registry import Instance
from sde.requests.gathered import WindowsDiffer, stated
from sde.requests.questions import check_question, info_of
from sde.requests.warnings import not_begun, nothing_fitted, warnings_of
from sde.shard.shard import Shard
from sde.wire import DATASET_SCOPE, Ask, Code, Refusal, ReplyFields, Span, Streams, SynopsisInfo
from sde.wire.windows import SESSION, interval_fields
from synopses import QueryError, Synopsis

_MOST_RANKED = 100_000  # streams that a shard asks for the sake of the largest values

Found = tuple[ReplyFields, Interval | None]  # a row, and the interval it is about


def ask_streams(shard: Shard, request: Ask, at: int | None) -> Table:
    """The answers of this shard's streams. `at`: the moment whose window is meant."""
    instance = _instance(shard, request.uids[0], "stream", request.stream)
    check_question(shard, request, [instance])
    shard.template(instance).estimate(request.query)  # what no stream can answer is refused here
    layer = shard.layer(instance)
    here = layer.streams_here()
    rows = _Rows(shard.template(instance), info_of(instance), layer, request, at)
    if request.top is None:
        places, more = _page(here, request.after, request.most)
        found = [rows.row(here, place) for place in places]
        chosen = [row for row, _ in found]
    else:
        _require_few(len(here.names))
        found = [rows.row(here, place) for place in range(len(here.names))]
        chosen, more = _largest((row for row, _ in found), request.top), False
    shared = isinstance(layer, PanedLayer) and _is_shared(layer)
    return Table(
        rows=chosen,
        streams=len(here.names),
        more=more,
        unanswered=_unanswered(row for row, _ in found),
        shed=layer.shed,
        about=_about(shard, instance),
        window=found[0][1] if found and shared else None,
        latest=layer.latest if isinstance(layer, PanedLayer) and shared else None,
    )


def list_streams(shard: Shard, request: Streams) -> Table:
    """The figures of this shard's streams."""
    instance = _instance(shard, request.uid, "uid", request.uid)
    layer = shard.layer(instance)
    here = layer.streams_here()
    places, more = _page(here, request.after, request.most)
    rows = [{"stream": here.names[i], **layer.figures_of(here.slots(i))} for i in places]
    return Table(
        rows=rows,
        streams=len(here.names),
        more=more,
        shed=layer.shed,
        about=_about(shard, instance),
    )


def joined(request: Ask | Streams, tables: list[Table]) -> ReplyFields:
    """What the reply says, from the tables of all shards; WindowsDiffer if they do not agree."""
    windowed = [table for table in tables if table.window is not None]
    if any(table.window != windowed[0].window for table in windowed):
        raise WindowsDiffer(max(table.latest for table in windowed if table.latest is not None))
    about = tables[0].about
    assert about is not None
    rows = itertools.chain.from_iterable(table.rows for table in tables)
    fields: ReplyFields = {"dataset": about.dataset, "kind": about.kind, "since": about.since}
    fields["streams"] = sum(table.streams for table in tables)
    warnings = warnings_of(about, 0, LeftOut(shed=sum(table.shed for table in tables)))
    if windowed and windowed[0].window is not None:
        warnings += not_begun(windowed[0].window, (table.latest for table in tables))
    if warnings:
        fields["warnings"] = warnings
    if isinstance(request, Ask):
        fields["stream"] = request.stream
    if isinstance(request, Ask) and request.top is not None:
        unanswered = sum(table.unanswered for table in tables)
        return {**fields, "unanswered": unanswered, "value": _largest(rows, request.top)}
    ordered = sorted(rows, key=lambda row: str(row["stream"]))
    page = ordered[: request.most]
    if isinstance(request, Ask):
        fields["unanswered"] = _unanswered(page)
    is_last = len(page) == len(ordered) and not any(table.more for table in tables)
    return {**fields, "value": page, **({} if is_last else {"next": page[-1]["stream"]})}


# -- which streams --------------------------------------------------------------------------------


def _instance(shard: Shard, uid: str, field: str, value: str | None) -> Instance:
    """The synopsis, which must be one of each stream."""
    instance = shard.registry.instance(uid)
    definition = instance.definition
    if definition.scope == DATASET_SCOPE or definition.stream is not None:
        of = "the whole data set" if definition.stream is None else "one stream"
        expected = f'a synopsis of scope "stream"; this one is of {of}'
        raise Refusal(Code.BAD_QUERY, f"{field}={value!r:.90}: expected {expected}", field)
    return instance


def _about(shard: Shard, instance: Instance) -> SynopsisInfo | None:
    return info_of(instance) if shard.number == 0 else None


def _page(here: StreamsHere, after: str | None, most: int) -> tuple[list[int], bool]:
    """The places of the first names behind one, in their order, and whether there are more."""
    names = here.names
    behind = (i for i in range(len(names)) if after is None or names[i] > after)
    found = heapq.nsmallest(most + 1, behind, key=names.__getitem__)
    return found[:most], len(found) > most


def _require_few(streams: int) -> None:
    if streams > _MOST_RANKED:
        raise Refusal(
            Code.LIMIT_EXCEEDED,
            f"top: a shard has {streams} streams, expected at most {_MOST_RANKED} for the largest "
            "values; ask for pages, with `limit`",
            "top",
        )


def _unanswered(rows: Iterable[ReplyFields]) -> int:
    return sum(row["value"] is None for row in rows)


def _largest(rows: Iterable[ReplyFields], top: int) -> list[ReplyFields]:
    """The rows with the largest values; equal ones in the order of names."""
    return heapq.nsmallest(top, _with_numbers(rows), key=lambda row: (-row["value"], row["stream"]))


def _with_numbers(rows: Iterable[ReplyFields]) -> Iterator[ReplyFields]:
    for row in rows:
        value = row["value"]
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise Refusal(Code.BAD_QUERY, "top: expected a question whose value is a number", "top")
        if value is not None and not math.isnan(value):
            yield row


# -- what they say --------------------------------------------------------------------------------


def _is_shared(layer: PanedLayer) -> bool:
    """Whether all streams have the same windows: by time, and no sessions."""
    return layer.window.type != SESSION and not layer.window.count


class _Rows:
    """Answers about single streams of one layer."""

    def __init__(
        self, empty: Synopsis, info: SynopsisInfo, layer: Layer, request: Ask, at: int | None
    ) -> None:
        self._empty, self._layer, self._query = empty, layer, request.query
        self._info = info
        self._of_all = warnings_of(info, 0, layer.left_out(skipped=0))  # the same for each stream
        self._time_is_known = isinstance(layer, PanedLayer) and layer.latest is not None
        self._span: Span | None = request.span
        self._at = at

    def row(self, here: StreamsHere, place: int) -> Found:
        """The row of a stream. One that cannot be answered has no value, and says why."""
        stream = here.names[place]
        try:
            held = self._held(here.hashes[place], here.slots(place))
        except NotKept as error:
            if self._layer.window is None or not self._layer.window.count:
                raise  # for all streams alike
            return self._without_value(stream, 0, [error.fault.message]), None
        if held is None:
            return self._without_value(stream, 0, ["no session of it ends there"]), None
        tuples, interval = held.tuples, held.interval
        skipped = LeftOut(skipped=held.skipped)
        warnings = [*warnings_of(self._info, tuples, skipped), *self._of_all]
        if nothing_fitted(tuples, self._layer.left_out(held.skipped), self._time_is_known):
            return self._without_value(stream, 0, warnings), interval
        try:
            estimate = (held.synopsis or self._empty).estimate(self._query)
        except QueryError as error:
            return self._without_value(stream, tuples, [str(error), *warnings]), interval
        row = {"stream": stream, **stated(estimate, self._info), "tuples": tuples}
        if interval is not None:
            window = self._layer.window
            row["window"] = interval_fields(interval, window is not None and window.count)
        if warnings:
            row["warnings"] = warnings
        return row, interval

    def _without_value(self, stream: str, tuples: int, reasons: list[str]) -> ReplyFields:
        return {"stream": stream, "value": None, "tuples": tuples, "warnings": reasons}

    def _held(self, stream: np.uint64, slots: NDArray[np.int32]) -> Held | None:
        """What the question is about, of one stream; no synopsis where its window is empty."""
        layer = self._layer
        if not isinstance(layer, PanedLayer):
            return layer.synopsis_in(slots)
        if layer.window.type == SESSION:
            return layer.session(slots, self._span)
        at = None if layer.window.count else self._at
        return layer.ask(stream, self._span, at, is_one_of_all=True)
