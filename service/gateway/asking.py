"""Requests that become messages of the wire, one or many, and come back as replies."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.responses import Response

from clients.errors import ClientError
from sde import wire
from sde.wire import Code
from sde.wire.catalogue import KindInfo, kind_info, kinds
from sde.wire.forms import JsonObject
from service.gateway.bodies import read_json
from service.gateway.call import Call, new_id, respond, told
from service.gateway.datasets import check_datasets
from service.gateway.problems import Problem, problem_of_error
from service.gateway.reading import KEY, checked, read_request, take_fresh, text_header

MOST_QUESTIONS = 1000


async def ask(call: Call) -> Response:
    """The routes of which a message of the wire says everything."""
    request, fresh = await read_request(call.http, call.route, call.path, call.settings)
    await check_datasets(call, request)
    return respond(told(await call.ask(request, fresh=fresh)), call.route.status)


async def create(call: Call) -> Response:
    """201 for a synopsis that was not there, 200 for one that was, with the same definition."""
    request, _ = await read_request(call.http, call.route, call.path, call.settings)
    await check_datasets(call, request)
    status = call.route.status
    try:
        await call.describe(request.named)
        status = 200
    except Problem as problem:
        if problem.code != Code.UNKNOWN_SYNOPSIS:
            raise
    return respond(told(await call.ask(request)), status)


async def estimates(call: Call) -> Response:
    """Questions asked at the same time: each has its own status, in the order of the questions."""
    questions = await read_json(call.http, call.settings)
    if not isinstance(questions, list) or len(questions) > MOST_QUESTIONS:
        detail = f"the body: expected a list of at most {MOST_QUESTIONS:,} questions"
        raise Problem(422, Code.BAD_REQUEST, detail)
    key = text_header(call.http, KEY)
    ids = [key and f"{key}.{number}" for number in range(len(questions))]
    asked = (_estimate(call, *each) for each in zip(questions, ids, strict=True))
    return respond(await asyncio.gather(*asked))


async def _estimate(call: Call, question: Any, request_id: str) -> JsonObject:
    try:
        if not isinstance(question, dict):
            raise Problem(422, Code.BAD_REQUEST, "a question: expected an object")
        for name in question.keys() & {"id", "op"}:
            raise Problem(422, Code.BAD_REQUEST, f"{name}: expected none here", name)
        fields = dict(question)
        fresh = take_fresh(fields)
        request = checked(wire.Ask, fields, request_id)
        await check_datasets(call, request)
        return {"status": 200, "body": told(await call.ask(request, fresh=fresh))}
    except (Problem, ClientError) as error:
        problem = error if isinstance(error, Problem) else problem_of_error(error)
        return {"status": problem.status, "body": problem.members}


async def one_source(call: Call) -> Response:
    """One line of the list of sources."""
    request = wire.Sources(id=new_id())
    await check_datasets(call, request)
    reply = await call.ask(request)
    name = call.path["name"]
    for source in reply["value"]:
        if source["name"] == name:
            return respond({**told(reply), "value": source})
    detail = f"name={name!r:.80}: expected the name of a source"
    raise Problem(404, Code.UNKNOWN_SOURCE, detail, "name")


async def list_kinds(call: Call) -> Response:
    """The kinds of the library, and those that active plug-ins declare."""
    reply = await call.ask(wire.Plugins(id=new_id()))
    active = [each for each in reply["value"] if each.get("state") == "active"]
    declared = [kind_info(each["declared"]) for each in active if each.get("declared")]
    found: list[KindInfo] = sorted([*kinds().values(), *declared], key=lambda each: each.kind)
    return respond({"value": msgspec.to_builtins(found)})
