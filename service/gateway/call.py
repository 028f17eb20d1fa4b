"""One request on its way through the gateway: what every handler gets."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from clients.errors import BadInput
from clients.transport import Message
from sde import wire
from sde.wire import Code, Request
from service.gateway.beside import Beside
from service.gateway.engine import EngineDoor
from service.gateway.position import LONGEST, NOWHERE, POSITION, Position
from service.gateway.problems import FORBIDDEN, Problem, problem_of_reply
from service.gateway.reading import seconds_for
from service.gateway.replay import SharedReplay
from service.gateway.routes import Route
from service.gateway.tokens import Caller
from service.http_settings import HttpSettings


@dataclass(slots=True)
class Call:
    """A request that was let in. `position` is that of what it has written so far."""

    http: HttpRequest
    route: Route
    path: Mapping[str, str]  # the fields that stand in the path
    caller: Caller
    door: EngineDoor
    settings: HttpSettings
    replay: SharedReplay | None
    beside: Beside | None
    at_least: Position = NOWHERE  # that answers have to be
    position: Position = NOWHERE

    async def ask(self, request: Request, *, fresh: bool = False) -> Message:
        """The engine's reply; Problem if it is a fault."""
        message = wire.message_of(request)
        seconds = seconds_for(request, self.settings)
        try:
            reply = await self.door.ask(message, seconds, fresh=fresh, at_least=self.at_least)
        except BadInput:
            detail = "Idempotency-Key: expected one that no other request in flight has"
            raise Problem(409, Code.IN_USE, detail) from None
        if reply.get("status") == "error":
            raise problem_of_reply(reply)
        dataset = reply.get("dataset")
        if isinstance(dataset, str) and not self.caller.sees(dataset):
            # The outcome of another's request, whose id was repeated here.
            raise Problem(403, FORBIDDEN, "this token is for other data sets", "dataset")
        if self.route.scope != "read":
            self.position = self.position.and_also(Position(batch=reply["batch"]))
        return reply

    async def describe(self, uid: str) -> Message:
        """What a synopsis is; Problem if there is none."""
        value: Message = (await self.ask(wire.Describe(id=new_id(), uid=uid)))["value"]
        return value

    @property
    def position_header(self) -> dict[str, str]:
        """For responses to what has written something: all that the caller wrote so far."""
        text = self.at_least.and_also(self.position).text if self.position else ""
        return {POSITION: text} if 0 < len(text) <= LONGEST else {}


def new_id() -> str:
    return uuid.uuid4().hex


def told(reply: Message) -> Message:
    """A reply as HTTP has it: the route has said the `op`."""
    return {name: value for name, value in reply.items() if name != "op"}


def respond(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")
