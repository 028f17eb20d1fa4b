"""What the gateway answers itself: sessions of browsers, probes, metrics, the OpenAPI document."""

from __future__ import annotations

from starlette.responses import Response

from service.gateway.call import Call, respond
from service.gateway.guard import bearer_token, session_cookie
from service.gateway.openapi import document
from service.gateway.problems import FORBIDDEN, NOT_READY, UNAUTHORIZED, Problem
from service.metrics.metric_set import CONTENT_TYPE

_SESSION_SECONDS = 12 * 3600


async def begin_session(call: Call) -> Response:
    """The token as a cookie that no script of a page can read."""
    token = bearer_token(call.http)
    if not token or not call.caller.name:
        raise Problem(401, UNAUTHORIZED, "expected a token of the settings in `Authorization`")
    return _with_cookie(call, token, _SESSION_SECONDS)


async def end_session(call: Call) -> Response:
    return _with_cookie(call, "", 0)


def _with_cookie(call: Call, token: str, seconds: int) -> Response:
    secure = call.http.url.scheme == "https"
    return Response(status_code=204, headers={"Set-Cookie": session_cookie(token, secure, seconds)})


async def openapi(call: Call) -> Response:
    return respond(document())


async def metrics(call: Call) -> Response:
    """All of them name data sets: a token that may see some only does not get any."""
    if call.caller.datasets:
        raise Problem(403, FORBIDDEN, "this token is for some data sets; metrics are of all")
    found = call.door.counts.exposition(event_streams=call.door.hub.followers)
    return Response(found, headers={"Content-Type": CONTENT_TYPE})


async def live(call: Call) -> Response:
    return respond({"status": "ok"})


async def ready(call: Call) -> Response:
    """503 while the engine does not answer; why is told to those who have a token, if any."""
    silence = await call.door.why_silent()
    if silence:
        detail = silence if call.caller.may("read") else "the engine does not answer"
        raise Problem(503, NOT_READY, detail)
    return respond({"status": "ok"})
