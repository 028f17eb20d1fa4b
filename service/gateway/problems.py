"""What went wrong, as application/problem+json (RFC 9457), and which status a fault code has."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from starlette.responses import Response

from clients.errors import (
    AnswerTimeout,
    BadInput,
    ClientError,
    DeliveryFailed,
    MissingExtra,
    Refused,
    TransportError,
)
from sde.wire import Code, Fault
from sde.wire.forms import JsonObject

STATUS_OF: dict[str, int] = {
    Code.BAD_ENCODING: 400,
    Code.BAD_JSON: 400,
    Code.BAD_FRAME: 422,
    Code.BAD_RECORD: 422,
    Code.BAD_SCHEMA: 422,
    Code.UNKNOWN_SCHEMA: 404,
    Code.BAD_TUPLE: 422,
    Code.BAD_REQUEST: 422,
    Code.TOO_LARGE: 413,
    Code.UNKNOWN_OP: 404,
    Code.UNKNOWN_KIND: 404,
    Code.UNKNOWN_SYNOPSIS: 404,
    Code.UNKNOWN_STREAM: 404,
    Code.SYNOPSIS_EXISTS: 409,
    Code.BAD_PARAMETER: 422,
    Code.BAD_STATE: 422,
    Code.UNKNOWN_VERSION: 404,
    Code.VERSION_EXISTS: 409,
    Code.UNKNOWN_SOURCE: 404,
    Code.UNKNOWN_WATCH: 404,
    Code.UNKNOWN_SITE: 404,
    Code.BAD_QUERY: 422,
    Code.NOT_MERGEABLE: 422,
    Code.LIMIT_EXCEEDED: 507,
    Code.OFFSETS_LOST: 500,
    Code.UNTRUSTED: 403,
    Code.BROKEN_LAW: 422,
    Code.UNKNOWN_PLUGIN: 404,
    Code.IN_USE: 409,
    Code.QUARANTINED: 503,
    Code.INCOMPLETE: 503,
    Code.PASSED_OVER: 500,
    Code.INTERNAL: 500,
}
# Codes of the gateway itself, beside those of the wire.
UNAUTHORIZED, FORBIDDEN, NOT_FOUND = "unauthorized", "forbidden", "not_found"
WRONG_METHOD, WRONG_TYPE = "method_not_allowed", "unsupported_media_type"
TOO_MANY, TOO_SLOW, BUSY = "too_many_requests", "too_slow", "busy"
NO_ANSWER, NOT_READY = "no_answer", "not_ready"
_log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
_RETRY_SECONDS = "1"


class Problem(Exception):
    """Raised anywhere below `app` to end a request with this reply. `more` are further members."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        field: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.field = status, code, detail, field
        self.headers = dict(headers or {})
        self.more = more
        if status in (429, 503):
            self.headers.setdefault("Retry-After", _RETRY_SECONDS)

    @property
    def members(self) -> JsonObject:
        named = {"field": self.field} if self.field else {}
        return {
            "type": f"urn:sde:fault:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            **named,
            **self.more,
        }

    def response(self) -> Response:
        return Response(orjson.dumps(self.members), self.status, self.headers, MEDIA_TYPE)


def problem_of_reply(reply: Mapping[str, Any]) -> Problem:
    """For a reply with a fault; an engine newer than this gateway may send unknown codes."""
    code = str(reply.get("code"))
    status = STATUS_OF.get(code, 500)
    return Problem(status, code, str(reply.get("message", "")), str(reply.get("field", "")))


def problem_of_fault(fault: Fault) -> Problem:
    """For a fault that the gateway found before it asked the engine."""
    return Problem(STATUS_OF[fault.code], fault.code, fault.message, fault.field)


def problem_of_error(error: ClientError) -> Problem:
    """For what the client library raises. Where Kafka is, and why it is silent, is for the log."""
    if isinstance(error, TransportError):
        _log.warning("%s", error)
    match error:
        case Refused():
            return problem_of_reply(error.reply)
        case BadInput():
            return Problem(422, Code.BAD_TUPLE, str(error))
        case MissingExtra():
            return Problem(415, WRONG_TYPE, str(error))
        case AnswerTimeout():
            detail = "the engine did not answer in time; a change may still be done"
            return Problem(504, NO_ANSWER, detail, request=error.request_id)
        case DeliveryFailed():
            return Problem(503, NOT_READY, "Kafka did not take all that was sent")
        case TransportError():
            return Problem(503, NOT_READY, "Kafka cannot be reached")
        case _:
            return Problem(500, Code.INTERNAL, "the gateway failed; its log says why")
