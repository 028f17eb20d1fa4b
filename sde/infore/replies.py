"""A native reply in the shape that INFORE's programs read, with ours in addition."""

from __future__ import annotations

from typing import Any

from sde.infore.contents import content_of
from sde.infore.envelope import reply_key, whole
from sde.infore.requests import CREDENTIALS, ESTIMATES
from sde.wire.forms import InforeMessage
from synopses import QueryError
from synopses.hashing import key_text

Message = InforeMessage

_OURS = ("lower", "upper", "confidence", "details", "tuples", "window", "since", "batch", "site")
_OF_WATCHES = ("number", "ended")


def answer_of(message: Message, native: Message) -> Message:
    """The message for the output topic.

    `native` is the whole native reply, also one of a watch that the request began.

    >>> native = {"op": "estimate", "status": "ok", "value": 2.0, "lower": 1.9, "upper": 2.0}
    >>> request = {"requestID": "3", "synopsisID": 1, "uid": 7, "param": [" a "], "noOfP": 4}
    >>> answer_of(request, native)["estimation"], answer_of(request, native)["key"]
    (2.0, '7')
    """
    uid = reply_key(message)
    refused = native["status"] == "error"
    return {
        "estimation": None if refused else content_of(message, native),
        "key": uid,
        "estimationkey": _item(native) or uid,
        "requestID": whole(message.get("requestID")),
        "synopsisID": whole(message.get("synopsisID")),
        "uid": whole(message.get("uid")),
        "streamID": text_or_none(message.get("streamID")),
        "param": _params(message),
        "noOfP": parallelism(message),
        "dataSetkey": dataset(message, native),
        "relatedRequestIdentifier": text_or_none(message.get("externalUID")),
        **{name: native[name] for name in (*_OURS, *_OF_WATCHES) if name in native},
        **_error(native),
    }


def is_estimate(message: Message, native: Message) -> bool:
    """Whether a reply tells an estimate, or why there is none."""
    asked_for = whole(message.get("requestID")) in ESTIMATES
    return asked_for or native.get("op") == "estimate" or "number" in native


def parallelism(message: Message) -> int:
    """A hint that was given: it comes back, and has no other effect."""
    return whole(message.get("noOfP")) or 0


def dataset(message: Message, native: Message) -> str | None:
    named = message.get("dataSetkey")
    named = message.get("key") if named is None else named
    return text_or_none(native.get("dataset") if named is None else named)


def text_or_none(value: Any) -> str | None:
    try:
        return key_text(value)
    except QueryError:
        return None


def _item(native: Message) -> str | None:
    """What a continuous answer is about: a key, or a stream."""
    if "number" not in native:
        return None
    return text_or_none(native.get("key", native.get("stream")))


def _params(message: Message) -> list[str | None]:
    """As texts, as there. Credentials are not handed on to everyone who reads the topic."""
    given = message.get("param")
    if not isinstance(given, list) or whole(message.get("requestID")) == CREDENTIALS:
        return []
    return [text_or_none(entry) for entry in given]


def _error(native: Message) -> Message:
    if native["status"] != "error":
        return {}
    named = {"field": native["field"]} if "field" in native else {}
    return {"error": native["message"], "code": native["code"], **named}
