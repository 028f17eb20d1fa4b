"""The application: finds a request's route, lets it in, has it carried out, and replies."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from clients.errors import ClientError
from sde.wire import Code
from service.gateway import asking, events, looking, own, pages, tuples
from service.gateway.beside import Beside
from service.gateway.bodies import drain
from service.gateway.call import Call
from service.gateway.counts import Counts
from service.gateway.engine import EngineDoor
from service.gateway.guard import HEADERS, Guard, name_of
from service.gateway.problems import BUSY, Problem, problem_of_error
from service.gateway.reading import check_query, read_at_least
from service.gateway.replay import Replay, SharedReplay
from service.gateway.routes import Handler, find_route
from service.gateway.tokens import Caller
from service.gateway.writers import Writers
from service.http_settings import HttpSettings

_log = logging.getLogger(__name__)
_NOBODY = Caller("", frozenset())
HANDLERS: dict[Handler, Callable[[Call], Awaitable[Response]]] = {
    "ask": asking.ask,
    "create": asking.create,
    "estimates": asking.estimates,
    "one_source": asking.one_source,
    "kinds": asking.list_kinds,
    "tuples": tuples.take_tuples,
    "events": events.follow_events,
    "session": own.begin_session,
    "end_session": own.end_session,
    "openapi": own.openapi,
    "live": own.live,
    "ready": own.ready,
    "metrics": own.metrics,
    "status": looking.status,
    "batches": looking.batches,
    "dead_letters": looking.dead_letters,
    "page": pages.serve_page,
}


class Gateway:
    """An ASGI application, called by the server for every request."""

    def __init__(
        self,
        settings: HttpSettings,
        door: EngineDoor,
        replay: Replay | None = None,
        beside: Beside | None = None,
    ) -> None:
        self._settings, self._door, self._beside = settings, door, beside
        self._replay = None if replay is None else SharedReplay(replay)
        self._guard, self._counts = Guard(settings), door.counts
        self._writers = Writers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        incoming = _Incoming(receive, self._counts)
        request = Request(scope, incoming.receive)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = {name for name, _ in message["headers"]}
                others = (header for header in HEADERS if header[0] not in named)
                message["headers"] = [*message["headers"], *others]
            await send(message)

        try:
            response = await self._respond(request)
        except ClientDisconnect:
            return
        if response.status_code >= 400 and incoming.is_open(request):
            # What is left of the body would be read as long as it comes.
            response.headers["connection"] = "close"
            if "expect" not in request.headers:
                await drain(request)
        await response(scope, incoming.receive, send_with_headers)

    async def _respond(self, request: Request) -> Response:
        outcome = await self._outcome(request)
        op = getattr(request.state, "op", "none")
        if isinstance(outcome, Problem):
            self._counts.on_request(op, outcome.code)
            return outcome.response()
        self._counts.on_request(op, "ok")
        return outcome

    async def _outcome(self, request: Request) -> Response | Problem:
        if self._counts.in_flight >= self._settings.requests_in_flight:
            return Problem(503, BUSY, "too many requests are waiting for answers")
        self._counts.in_flight += 1
        try:
            return await self._handle(request)
        except Problem as problem:
            return problem
        except ClientError as error:
            return problem_of_error(error)
        except ClientDisconnect:
            raise
        except Exception:
            _log.exception("%s failed", request.method)
            return Problem(500, Code.INTERNAL, "the gateway failed; its log says why")
        finally:
            self._counts.in_flight -= 1

    async def _handle(self, request: Request) -> Response:
        caller = self._guard.caller(request)
        check_query(request)
        route, path = find_route(request.method, request.scope["raw_path"])
        request.state.op = route.op
        self._guard.admit(request, route, caller)
        said, who = read_at_least(request), name_of(caller, request)
        call = Call(
            http=request,
            route=route,
            path=path,
            caller=caller or _NOBODY,
            door=self._door,
            settings=self._settings,
            replay=self._replay,
            at_least=self._writers.position(who) if said is None else said,
            beside=self._beside,
        )
        try:
            response = await HANDLERS[route.handler](call)
        finally:
            self._writers.note(who, call.position)
        response.headers.update(call.position_header)
        return response


class _Incoming:
    """Notes whether the whole body has come, and counts its bytes."""

    def __init__(self, receive: Receive, counts: Counts) -> None:
        self._receive, self._ended, self._counts = receive, False, counts

    async def receive(self) -> Message:
        message = await self._receive()
        self._counts.on_body(len(message.get("body", b"")))
        self._ended = self._ended or not message.get("more_body", False)
        return message

    def is_open(self, request: Request) -> bool:
        length = request.headers.get("content-length", "0")
        has_body = length != "0" or "transfer-encoding" in request.headers
        return has_body and not self._ended
