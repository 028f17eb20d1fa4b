"""STELAR's log: where it told what became of every request that is not an estimate."""

from __future__ import annotations

import datetime

from sde.infore.contents import content_of
from sde.infore.envelope import whole
from sde.infore.replies import dataset, is_estimate, parallelism, text_or_none
from sde.tuples.times import LATEST
from sde.wire.forms import InforeMessage

Message = InforeMessage

_EPOCH = datetime.datetime(1970, 1, 1)


def belongs_in_log(message: Message, native: Message) -> bool:
    """Whether a reply goes to the logging topic, if there is one, in place of the output topic.

    One message for each request, never two: a client that waits for the first would take the
    second for a stranger's, and keeps only a few of those before it blocks.
    """
    return not is_estimate(message, native)


def logging_message(message: Message, native: Message, time: int) -> Message:
    """The reply in the shape of STELAR's log; `time` is when the request came (ms)."""
    refused = native["status"] == "error"
    kind = "ERROR" if refused else "LOG" if "ended" in native else "RESPONSE"
    content = native.get("message") if refused else native.get("ended")
    return {
        "timestamp": _written(time),
        "key": dataset(message, native),
        "parallelism": parallelism(message),
        "relatedRequestIdentifier": text_or_none(message.get("externalUID")),
        "messageType": kind,
        "content": content_of(message, native) if content is None else content,
        "requestTypeID": whole(message.get("requestID")),
    }


def _written(time: int) -> str:
    """`dd-MM-yyyy HH:mm:ss`, UTC."""
    moment = _EPOCH + datetime.timedelta(milliseconds=min(max(0, time), LATEST))
    return moment.strftime("%d-%m-%Y %H:%M:%S")
