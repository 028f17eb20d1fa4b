"""The partials of one question, together: the synopses they make up, and answers out of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sde.banks.sessions import Cell, Session, sessions
from sde.plugins.shelf import kind_in
from sde.records.partial import Partial, join_streams, unpack_streams
from sde.wire import Ask, Code, Refusal, Span
from sde.wire.durations import milliseconds
from synopses import Estimate, QueryError, Streams, Synopsis
from synopses.common_window import CommonWindow, OtherWindow


@dataclass(frozen=True, slots=True)
class WindowsDiffer(Exception):
    """The shards answered for different windows; the latest moment any of them knows."""

    latest: int


class Gathered:
    def __init__(self, partials: list[Partial], span: Span | None) -> None:
        self._partials, self._span = partials, span
        self._about: list[dict[str, Any]] = partials[0].head["about"]
        self.kind = kind_in(partials[0].head)

    def fields(self, stream: str | None) -> dict[str, Any]:
        """What a reply says of the synopses it is about."""
        told = {
            "dataset": self._about[0]["dataset"],
            "kind": self._about[0]["kind"],
            **({"stream": stream} if stream is not None else {}),
            "tuples": self._tuples,
            "since": min(one["since"] for one in self._about),
        }
        if self.interval is not None:
            told["window"] = dict(zip(("start", "end"), self.interval, strict=True))
        return told

    def estimate(self, question: Ask) -> dict[str, Any]:
        """The answer to a question; Refusal if it cannot be given."""
        try:
            estimate = self._estimate(question)
        except QueryError as error:
            raise Refusal(Code.BAD_QUERY, str(error), error.name) from None
        return self.told(question, estimate)

    def told(self, question: Ask, estimate: dict[str, Any]) -> dict[str, Any]:
        """What a reply says with an estimate."""
        if "error" in estimate:
            raise Refusal(Code.BAD_QUERY, estimate["error"], estimate["field"])
        told = {name: value for name, value in estimate.items() if value not in (None, {})}
        return {**self.fields(question.stream), **told, "value": estimate["value"]}

    def _estimate(self, question: Ask) -> dict[str, Any]:
        asked, arguments = self.kind.check_query(question.query, len(self._about) - 1)
        if asked.across:
            template = self.kind(**self._about[0]["params"])
            estimate: Estimate = getattr(template, asked.name)(self._streams(template), **arguments)
            return estimate.as_json()
        self.require_stream(question.stream)
        first, *others = self.merged
        return first.estimate(question.query, *others).as_json()

    def _streams(self, template: Synopsis) -> Streams:
        """The streams of all shards; WindowsDiffer if some are cut to a window of their own."""
        parts = [unpack_streams(p.parts[0]) for p in self._partials]
        if not isinstance(template, CommonWindow):
            return join_streams(parts)
        try:
            return template.join(parts)
        except OtherWindow as other:
            raise WindowsDiffer(other.moment) from None

    def require_stream(self, stream: str | None) -> None:
        if stream is not None and all(t is None for p in self._partials for t in p.head["tuples"]):
            raise Refusal(
                Code.UNKNOWN_STREAM,
                f"stream={stream[:80]!r}: no tuple of this stream has come yet",
                "stream",
            )

    @cached_property
    def merged(self) -> list[Synopsis]:
        """Each synopsis out of its parts in all shards; empty where no shard has any."""
        if self._session is not None:
            return [self._merge([cell.holds[1] for cell in self._session.cells], 0)]
        return [
            self._merge([p.parts[which] for p in self._partials if p.parts], which)
            for which in range(len(self._about))
        ]

    def _merge(self, parts: list[bytes], which: int) -> Synopsis:
        merged: Synopsis | None = None
        for state in filter(None, parts):
            part = self.kind.from_bytes(state)
            if merged is None:
                merged = part
            else:
                merged.merge(part)
        return merged if merged is not None else self.kind(**self._about[which]["params"])

    @cached_property
    def _tuples(self) -> int:
        if self._session is not None:
            return sum(cell.holds[0] for cell in self._session.cells)
        return sum(t for p in self._partials for t in p.head["tuples"] if t is not None)

    @cached_property
    def interval(self) -> tuple[int, int] | None:
        """The window the answer is about. All shards must mean the same."""
        if self._session is not None:
            gap = self._gap
            return self._session.first, self._session.end(gap)
        told = [p.head for p in self._partials if p.head.get("windows")]
        if not told:
            return None
        if any(head["windows"] != told[0]["windows"] for head in told):
            raise WindowsDiffer(max(h["latest"] for h in told if h["latest"] is not None))
        start, end = next(filter(None, told[0]["windows"]))
        return start, end

    @property
    def _gap(self) -> int:
        return milliseconds(self._about[0]["window"]["gap"]) or 0

    @cached_property
    def _session(self) -> Session[tuple[int, bytes]] | None:
        """The session of a whole data set that is asked for."""
        if "cells" not in self._partials[0].head:
            return None
        cells = [
            Cell(cell[0], cell[1], cell[2], (tuples, state))
            for p in self._partials
            for cell, tuples, state in zip(p.head["cells"], p.head["tuples"], p.parts, strict=True)
        ]
        found = sessions(cells, self._gap)
        if self._span is not None:
            found = [s for s in found if s.end(self._gap) == self._span.end]
        return found[-1] if found else Session(0, -self._gap, [])
