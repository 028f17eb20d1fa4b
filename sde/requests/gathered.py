"""The states that all shards, or sites, hold for one question: merged, and asked.

States are merged, then asked; estimates are never added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sde.banks.sessions import Cell, Session, sessions
from sde.plugins.remote import kind_class
from sde.records.result import PackedPlugin, States
from sde.records.streams import join_streams, unpack_streams
from sde.requests.digests import LARGEST, digest_of, follows_from_tuples
from sde.wire import DATASET_SCOPE, Ask, Code, Refusal, ReplyFields, Span
from sde.wire.durations import milliseconds
from synopses import KINDS, Estimate, QueryError, Streams, Synopsis
from synopses.common_window import CommonWindow, OtherWindow


@dataclass(frozen=True, slots=True)
class WindowsDiffer(Exception):
    """The shards answered for different windows; the latest moment any of them knows."""

    latest: int


def kind_of(kind: str, plugin: PackedPlugin | None) -> type[Synopsis]:
    """The class of a kind. A plug-in's comes from this engine's own shelf, never from outside."""
    if plugin is None:
        return KINDS[kind]
    cls = kind_class(plugin.version)
    for made in plugin.made:
        cls.learn(made)
    return cls


class Gathered:
    """`states`: of all that contribute, the first with the definitions."""

    def __init__(self, states: list[States], span: Span | None) -> None:
        self._states, self._span = states, span
        self._about = states[0].about
        self.kind = kind_of(self._about[0].kind, states[0].plugin)

    def fields(self, stream: str | None) -> ReplyFields:
        """What a reply says of the synopses it is about."""
        fields = {
            "dataset": self._about[0].dataset,
            "kind": self._about[0].kind,
            **({"stream": stream} if stream is not None else {}),
            "tuples": self._tuples,
            "since": min(info.since for info in self._about),
        }
        missed = sum(states.missed for states in self._states)
        if missed:
            fields["missed"] = missed
        if self.interval is not None:
            fields["window"] = dict(zip(("start", "end"), self.interval, strict=True))
        return fields

    def answer(self, question: Ask) -> ReplyFields:
        """What a reply says to a question; Refusal if it cannot be answered.

        Where one shard alone knew the answer, that is it.
        """
        for states in self._states:
            if states.estimate is not None:
                known = {"digest": states.digest} if states.digest else {}
                return {**self.fields_with(question, states.estimate), **known}
        return {**self.fields_with(question, self.estimate(question)), **self._digest(question)}

    def _digest(self, question: Ask) -> ReplyFields:
        """The digest of the merged states, if such an answer has one."""
        asked, _ = self.kind.check_query(question.query, len(self._about) - 1)
        of_streams = all(info.scope != DATASET_SCOPE for info in self._about)
        if asked.across or not follows_from_tuples(self.kind, of_streams and not question.sites):
            return {}
        if any(synopsis.memory > LARGEST for synopsis in self.merged):
            return {}
        return {"digest": digest_of(self.merged)}

    def fields_with(self, question: Ask, estimate: Estimate) -> ReplyFields:
        """What a reply says with an estimate."""
        found = estimate.as_json()
        stated = {name: value for name, value in found.items() if value not in (None, {})}
        return {**self.fields(question.stream), **stated, "value": estimate.value}

    def estimate(self, question: Ask) -> Estimate:
        """The estimate from the merged states; Refusal if there is none."""
        try:
            return self._estimate(question)
        except QueryError as error:
            raise Refusal(Code.BAD_QUERY, str(error), error.name) from None

    def _estimate(self, question: Ask) -> Estimate:
        asked, arguments = self.kind.check_query(question.query, len(self._about) - 1)
        if asked.across:
            template = self.kind(**self._about[0].params)
            across: Estimate = getattr(template, asked.name)(self._streams(template), **arguments)
            return across
        self.require_stream(question.stream)
        first, *others = self.merged
        return first.estimate(question.query, *others)

    def _streams(self, template: Synopsis) -> Streams:
        """The streams of all shards; WindowsDiffer if some are cut to a window of their own."""
        parts = [unpack_streams(states.parts[0].data) for states in self._states]
        if not isinstance(template, CommonWindow):
            return join_streams(parts)
        try:
            return template.join(parts)
        except OtherWindow as other:
            raise WindowsDiffer(other.moment) from None

    def require_stream(self, stream: str | None) -> None:
        counts = [count for states in self._states for count in states.tuples]
        if stream is not None and all(count is None for count in counts):
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
            self._merge([s.parts[which].data for s in self._states if s.parts], which)
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
        return merged if merged is not None else self.kind(**self._about[which].params)

    @cached_property
    def _tuples(self) -> int:
        if self._session is not None:
            return sum(cell.holds[0] for cell in self._session.cells)
        counts = (count for states in self._states for count in states.tuples)
        return sum(count for count in counts if count is not None)

    @cached_property
    def interval(self) -> tuple[int, int] | None:
        """The window the answer is about. All shards must mean the same."""
        if self._session is not None:
            gap = self._gap
            return self._session.first, self._session.end(gap)
        windowed = [states for states in self._states if states.windows]
        if not windowed:
            return None
        if any(states.windows != windowed[0].windows for states in windowed):
            raise WindowsDiffer(max(s.latest for s in windowed if s.latest is not None))
        start, end = next(window for window in windowed[0].windows if window)
        return start, end

    @property
    def _gap(self) -> int:
        window = self._about[0].window or {}
        return milliseconds(window.get("gap")) or 0

    @cached_property
    def _session(self) -> Session[tuple[int, bytes]] | None:
        """The session of a whole data set that is asked for."""
        if self._states[0].cells is None:
            return None
        cells = [
            Cell(*cell, (tuples or 0, part.data))
            for states in self._states
            for cell, tuples, part in zip(
                states.cells or (), states.tuples, states.parts, strict=True
            )
        ]
        found = sessions(cells, self._gap)
        if self._span is not None:
            found = [s for s in found if s.end(self._gap) == self._span.end]
        return found[-1] if found else Session(0, -self._gap, [])
