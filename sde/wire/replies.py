"""Replies: one JSON object for each request, and the dead letter of a message that is none."""

from __future__ import annotations

import base64
from typing import Any

import orjson

from sde.wire.faults import Code, Fault
from sde.wire.requests import Request

ReplyFields = dict[str, Any]  # what a reply says, as JSON: the fields of docs/reference/messages.md
_ABOUT_REPLY = ("id", "request", "op", "uid", "stream", "key", "number", "batch", "site")
_SHORT = 1024  # bytes of a field that a reply keeps which stands for one that was too large
_PAGES = "ask for smaller pages, with `limit`"
_REMEDIES = {
    "list": _PAGES,
    "streams": _PAGES,
    "watches": _PAGES,
    "snapshots": "name a uid, or remove versions",
    "export": "keep a version with `snapshot` in place of it, or set the topic's max.message.bytes",
    "estimate": "ask for less, or for fewer at the same time",
}
EXCERPT = 1024  # bytes of a refused message that go into its dead letter


def answer(request: Request, batch: int, site: str, **fields: Any) -> ReplyFields:
    """The reply to a request that was carried out."""
    return {**_head(request, batch), "status": "ok", **fields, "batch": batch, "site": site}


def refusal(request: Request, fault: Fault, batch: int, site: str) -> ReplyFields:
    """The reply to a request that was refused."""
    return {**_head(request, batch), **fault.as_json(), "batch": batch, "site": site}


def as_of(reply: ReplyFields, began: int, lag: int | None) -> ReplyFields:
    """A reply of the read lane: `began` is when its batch did, `lag` what was left to be read."""
    known = {} if lag is None else {"lag": lag}
    return {**reply, "as_of": began, **known}


def unreadable(place: str, fault: Fault, batch: int, site: str) -> ReplyFields:
    """The reply to something on the request topic that is no request."""
    head = {"id": f"{place}/{batch}", "request": place, "op": None}
    return {**head, **fault.as_json(), "batch": batch, "site": site}


def watch_answer(watch: str, number: int) -> ReplyFields:
    """How an answer of a watch begins; a repeat has the same number."""
    return {"id": f"{watch}#{number}", "request": watch, "op": "watch", "number": number}


def _head(request: Request, batch: int) -> ReplyFields:
    return {"id": f"{request.id}/{batch}", "request": request.id, "op": request.op}


def reply_in_place_of(large: bytes) -> bytes | None:
    """What is written for a reply, in either dialect, that its topic does not take.

    A fault for the same request, so that nobody waits for a reply that cannot come. None for
    bytes that are no reply.

    >>> large = orjson.dumps({"id": "r/1", "request": "r", "op": "export", "value": "x" * 9999})
    >>> orjson.loads(reply_in_place_of(large))["request"]
    'r'
    """
    try:
        reply = orjson.loads(large)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(reply, dict) or not reply.keys() & {"request", "estimation", "messageType"}:
        return None
    remedy = _REMEDIES.get(str(reply.get("op")), _REMEDIES["estimate"])
    reason = f"the reply has {len(large):,} bytes, more than the topic takes: {remedy}"
    fault = Fault(Code.TOO_LARGE, reason).as_json()
    short = {name: value for name, value in reply.items() if _is_short(value)}
    if "request" in reply:
        about = {name: value for name, value in short.items() if name in _ABOUT_REPLY}
        return orjson.dumps({**about, **fault})
    if "estimation" in reply:
        error = {"estimation": None, "error": reason, "code": fault["code"]}
        return orjson.dumps({**short, **error})
    return orjson.dumps({**short, "messageType": "ERROR", "content": reason})


def _is_short(value: Any) -> bool:
    return len(orjson.dumps(value)) <= _SHORT


def dead_letter(
    log: str, partition: int, offset: int, line: int, fault: Fault, payload: bytes
) -> ReplyFields:
    """What goes to the dead-letter topic for a message, or one line of it, that was refused.

    `log` is the topic, with the name of a source and a slash in front if one reads it.
    """
    source, _, topic = log.rpartition("/")
    return {
        **({"source": source} if source else {}),
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "line": line,
        **fault.as_json(),
        "bytes": len(payload),
        "excerpt": base64.b64encode(payload[:EXCERPT]).decode(),
    }
