"""Replies: one JSON object for each request, and the dead letter of a message that is none."""

from __future__ import annotations

import base64
from typing import Any

from sde.wire.faults import Fault
from sde.wire.requests import Request

ReplyFields = dict[str, Any]  # what a reply says, as JSON: the fields of docs/reference/messages.md
EXCERPT = 1024  # bytes of a refused message that go into its dead letter


def answer(request: Request, batch: int, site: str, **fields: Any) -> ReplyFields:
    """The reply to a request that was carried out."""
    return {**_head(request, batch), "status": "ok", **fields, "batch": batch, "site": site}


def refusal(request: Request, fault: Fault, batch: int, site: str) -> ReplyFields:
    """The reply to a request that was refused."""
    return {**_head(request, batch), **fault.as_json(), "batch": batch, "site": site}


def unreadable(place: str, fault: Fault, batch: int, site: str) -> ReplyFields:
    """The reply to something on the request topic that is no request."""
    head = {"id": f"{place}/{batch}", "request": place, "op": None}
    return {**head, **fault.as_json(), "batch": batch, "site": site}


def watch_answer(watch: str, number: int) -> ReplyFields:
    """How an answer of a watch begins; a repeat has the same number."""
    return {"id": f"{watch}#{number}", "request": watch, "op": "watch", "number": number}


def _head(request: Request, batch: int) -> ReplyFields:
    return {"id": f"{request.id}/{batch}", "request": request.id, "op": request.op}


def dead_letter(
    topic: str, partition: int, offset: int, line: int, fault: Fault, payload: bytes
) -> ReplyFields:
    """What goes to the dead-letter topic for a message, or one line of it, that was refused."""
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "line": line,
        **fault.as_json(),
        "bytes": len(payload),
        "excerpt": base64.b64encode(payload[:EXCERPT]).decode(),
    }
