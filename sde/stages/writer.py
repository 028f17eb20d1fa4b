"""Replies as messages to be written, in the dialect of the request they answer."""

from __future__ import annotations

from sde.infore import answer_of, belongs_in_log, logging_message, reply_key
from sde.records.loop import Loop
from sde.records.outgoing import LoopWriter, Outgoing, Topic, json_bytes
from sde.requests.boundary import fault_of
from sde.wire import Code, Fault, ReplyFields
from sde.wire.forms import InforeMessage


class ReplyWriter:
    """`has_log`: there is a topic for INFORE's log. `loop` seals what goes round it."""

    def __init__(self, site: str, has_log: bool, loop: LoopWriter) -> None:
        self.site, self._has_log, self._loop = site, has_log, loop

    def reply(
        self, fields: ReplyFields, key: str, infore: InforeMessage | None, time: int
    ) -> Outgoing:
        """`infore`: the request, which came at `time`, if it was in that dialect."""
        if infore is None:
            return Outgoing(key, json_bytes(fields))
        try:
            return self._in_dialect(fields, infore, time)
        except Exception as error:
            fault = fault_of(error, infore, lambda failure: Fault(Code.INTERNAL, failure.reason))
            return self._in_dialect({**fields, **fault.as_json()}, infore, time)

    def _in_dialect(self, fields: ReplyFields, infore: InforeMessage, time: int) -> Outgoing:
        if self._has_log and belongs_in_log(infore, fields):
            message = logging_message(infore, fields, time)
            return Outgoing(reply_key(infore), json_bytes(message), Topic.LOG)
        return Outgoing(reply_key(infore), json_bytes(answer_of(infore, fields)))

    def to_loop(self, message: Loop) -> Outgoing:
        return self._loop.message(message)
