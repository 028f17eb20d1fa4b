"""Replies as messages to be written, in the dialect of the request they answer."""

from __future__ import annotations

import math
from collections import Counter

from sde.infore import answer_of, belongs_in_log, logging_message, reply_key
from sde.records.figures import WATCH_ANSWER, Watched, Written
from sde.records.loop import Loop
from sde.records.outgoing import LoopWriter, Outgoing, Topic, json_bytes
from sde.requests.boundary import fault_of
from sde.wire import Code, Fault, ReplyFields
from sde.wire.forms import InforeMessage


class ReplyWriter:
    """`has_log`: there is a topic for INFORE's log. `loop` seals what goes round it.

    `exported`: the watches whose answers are among the figures.
    """

    def __init__(
        self, site: str, has_log: bool, loop: LoopWriter, exported: frozenset[str]
    ) -> None:
        self.site, self._has_log, self._loop = site, has_log, loop
        self._exported = exported
        self._replies: Counter[tuple[str, str]] = Counter()  # by op and code
        self._watched: dict[str, Watched | None] = {}

    @property
    def figures(self) -> Written:
        """What was replied so far."""
        replies = [(op, code, count) for (op, code), count in self._replies.items()]
        return Written(replies=replies, watched=self._watched)

    def reply(
        self, fields: ReplyFields, key: str, infore: InforeMessage | None, time: int
    ) -> Outgoing:
        """`infore`: the request, which came at `time`, if it was in that dialect."""
        op = WATCH_ANSWER if "number" in fields else fields.get("op") or "none"
        self._replies[op, fields.get("code", "ok")] += 1
        if self._exported and fields.get("request") in self._exported:
            self._export(fields)
        if infore is None:
            return Outgoing(key, json_bytes(fields))
        try:
            return self._in_dialect(fields, infore, time)
        except Exception as error:
            fault = fault_of(error, infore, lambda failure: Fault(Code.INTERNAL, failure.reason))
            return self._in_dialect({**fields, **fault.as_json()}, infore, time)

    def _export(self, fields: ReplyFields) -> None:
        """What an answer says that is one number; nothing of any other."""
        if "ended" in fields:
            self._watched[fields["request"]] = None
        value, lower, upper = (_finite(fields.get(name)) for name in ("value", "lower", "upper"))
        if value is not None and "number" in fields and "key" not in fields:
            self._watched[fields["request"]] = Watched(value, lower, upper)

    def _in_dialect(self, fields: ReplyFields, infore: InforeMessage, time: int) -> Outgoing:
        if self._has_log and belongs_in_log(infore, fields):
            message = logging_message(infore, fields, time)
            return Outgoing(reply_key(infore), json_bytes(message), Topic.LOG)
        return Outgoing(reply_key(infore), json_bytes(answer_of(infore, fields)))

    def to_loop(self, message: Loop) -> Outgoing:
        return self._loop.message(message)


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
