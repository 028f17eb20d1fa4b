"""The states that all shards, or sites, hold for one question: merged, and asked.

States are merged, then asked; estimates are never added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sde.banks.sessions import Cell, Session, sessions
from sde.plugins.remote import kind_class
from sde.records.left_out import LeftOut, total
from sde.records.result import PackedPlugin, States
from sde.records.streams import join_streams, unpack_streams
from sde.requests.digests import LARGEST, digest_of, follows_from_tuples
from sde.requests.warnings import not_begun, nothing_fitted, warnings_of, without_full_window
from sde.wire import DATASET_SCOPE, Ask, Code, Refusal, ReplyFields, Span, SynopsisInfo
from sde.wire.durations import milliseconds
from sde.wire.windows import interval_fields
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


def stated(estimate: Estimate, about: SynopsisInfo) -> ReplyFields:
    """What a reply says of an estimate: its value, and what else is known."""
    known = {name: found for name, found in estimate.as_json().items() if found not in (None, {})}
    return {**known, "value": _with_names(estimate.value, about.value)}


def _with_names(value: Any, fields: str | list[str]) -> Any:
    """The value of an answer; in records with several values these have the names of the fields."""
    if isinstance(fields, str) or not isinstance(value, list):
        return value
    return [
        {**row, "values": dict(zip(fields, row["values"], strict=True))}
        if isinstance(row, dict) and "values" in row
        else row
        for row in value
    ]


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
        if self.interval is not None:
            fields["window"] = interval_fields(self.interval, self._is_by_count)
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
        of_streams = all(info.scope != DATASET_SCOPE for info in self._about)
        if self.is_across(question) or not follows_from_tuples(
            self.kind, of_streams and not question.sites
        ):
            return {}
        if any(synopsis.memory > LARGEST for synopsis in self.merged):
            return {}
        return {"digest": self._digest_of_merged}

    @cached_property
    def _digest_of_merged(self) -> str:
        return digest_of(self.merged)

    def is_across(self, question: Ask) -> bool:
        """Whether it is asked of all streams together, so that their states are not merged."""
        return self.kind.check_query(question.query, len(self._about) - 1)[0].across

    def fields_with(self, question: Ask, estimate: Estimate) -> ReplyFields:
        """What a reply says with an estimate: no value where nothing that came fitted."""
        fields = self.fields(question.stream)
        warnings = self._warnings
        if estimate.details.get("complete") is False:
            warnings.append("the list is cut: more fits the question, ask with a larger `limit`")
        warnings += without_full_window(estimate)
        warned = {"warnings": warnings} if warnings else {}
        if self._nothing_fitted:
            return {**fields, "value": None, **warned}
        return {**fields, **stated(estimate, self._about[0]), **warned}

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """For each synopsis, of all shards; empty where no shard left anything out."""
        told = [states.left_out for states in self._states if states.left_out]
        return [
            total(each[which] for each in told if which < len(each))
            for which in range(len(self._about) if told else 0)
        ]

    @property
    def _warnings(self) -> list[str]:
        several = len(self._about) > 1
        early = []
        if self.interval is not None and self._session is None and not self._is_by_count:
            early = not_begun(self.interval, (states.latest for states in self._states))
        left_out = [
            f"synopsis {which + 1} of the question: {text}" if several else text
            for which, left_out in enumerate(self.left_out)
            for text in warnings_of(self._about[which], self._tuples_of(which), left_out)
        ]
        return [*early, *left_out]

    @property
    def _nothing_fitted(self) -> bool:
        time_known = any(states.latest is not None or states.cells for states in self._states)
        return any(
            nothing_fitted(self._tuples_of(which), left_out, time_known)
            for which, left_out in enumerate(self.left_out)
        )

    def _tuples_of(self, which: int) -> int:
        if self._session is not None:
            return self._tuples
        return sum(states.tuples[which] or 0 for states in self._states if states.tuples)

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
            where = self._about[0].where
            meant = f" that where ({where}) is true of" if where else ""
            if shed := sum(left_out.shed for left_out in self.left_out):
                meant += f", or none found room: the limits dropped {shed:,} tuples of new streams"
            raise Refusal(
                Code.UNKNOWN_STREAM,
                f"stream={stream[:80]!r}: no tuple of this stream has come yet{meant}",
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
    def _is_by_count(self) -> bool:
        """Whether the window is so many tuples long: then it is from one number to another."""
        window = self._about[0].window or {}
        return isinstance(window.get("size"), int)

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
