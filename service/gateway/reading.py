"""A request of HTTP becomes a message of the wire: fields out of path, query and body."""

from __future__ import annotations

import functools
import typing
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
import orjson
from msgspec import structs
from starlette.requests import Request as HttpRequest

from sde import wire
from sde.wire import Code, Refusal, Request
from sde.wire.forms import JsonObject
from service.gateway.bodies import read_json
from service.gateway.position import AT_LEAST, Position, read_positions
from service.gateway.problems import Problem, problem_of_fault
from service.gateway.routes import Route
from service.http_settings import HttpSettings

KEY = "idempotency-key"
_LARGER_STATES = 4  # a state may have as many times the bytes of another body
_PLUGIN_SECONDS = 120.0  # the examination of a plug-in, at most
_MARGIN = 5.0  # seconds beyond the deadline of sites


async def read_request(
    http: HttpRequest, route: Route, path: Mapping[str, str], settings: HttpSettings
) -> tuple[Request, bool]:
    """The request that is meant, and whether its answer must be fresh; Problem if it is none."""
    assert route.asks is not None
    if route.has_body:
        most = settings.body_bytes * (_LARGER_STATES if route.asks is wire.Import else 1)
        fields = await read_json(http, settings, most)
    else:
        fields = _query_fields(http, route.asks)
    if not isinstance(fields, dict):
        raise Problem(400, Code.BAD_JSON, "the body: expected a JSON object")
    for name in fields.keys() & (route.without | {"id", "op"}):
        detail = f"{name}: expected none here; the path says it, or a header"
        raise Problem(422, Code.BAD_REQUEST, detail, name)
    for name, said in path.items():
        if fields.setdefault(name, said) != said:
            detail = f"{name}={fields[name]!r:.80}: expected {said!r:.80}, as the path says"
            raise Problem(422, Code.BAD_REQUEST, detail, name)
    fresh = take_fresh(fields) if route.asks is wire.Ask else False
    return checked(route.asks, fields, text_header(http, KEY)), fresh


def check_query(http: HttpRequest) -> None:
    """Problem for a query that is no text; a part of it would be replaced in silence."""
    try:
        unquote_to_bytes(http.scope["query_string"]).decode()
    except UnicodeDecodeError:
        raise Problem(400, Code.BAD_ENCODING, "the query: expected percent-encoded UTF-8") from None


def text_header(http: HttpRequest, name: str) -> str:
    """A header with a text of a user, "" if it is not there; Problem if it is not UTF-8."""
    try:
        return http.headers.get(name, "").encode("latin-1").decode()
    except UnicodeDecodeError:
        raise Problem(400, Code.BAD_ENCODING, f"the header {name}: expected UTF-8") from None


def read_at_least(http: HttpRequest) -> Position | None:
    """How far the answer has to be, if that is said; Problem for what no gateway said."""
    texts = http.headers.getlist(AT_LEAST)
    try:
        return read_positions(texts) if texts else None
    except ValueError as error:
        raise Problem(422, Code.BAD_REQUEST, f"{AT_LEAST}: {error}", AT_LEAST) from None


def take_fresh(fields: JsonObject) -> bool:
    """`fresh` of an estimate, which only HTTP has."""
    fresh = fields.pop("fresh", False)
    if not isinstance(fresh, bool):
        detail = f"fresh={fresh!r:.80}: expected true or false"
        raise Problem(422, Code.BAD_REQUEST, detail, "fresh")
    return fresh


def checked(form: type[Request], fields: Mapping[str, Any], request_id: str) -> Request:
    """The request of these fields, so that what is wrong by itself never goes to the engine.

    Without an id it gets one.
    """
    message = {**fields, "op": form.__struct_config__.tag, "id": request_id or uuid.uuid4().hex}
    try:
        return wire.decode_request(message, "")
    except Refusal as refusal:
        raise problem_of_fault(refusal.fault) from None


def seconds_for(request: Request, settings: HttpSettings) -> float:
    """How long the answer is waited for."""
    if isinstance(request, wire.Plugin):
        return max(settings.answer_seconds, _PLUGIN_SECONDS)
    sites = getattr(request, "sites", None) is not None or isinstance(request, wire.Sites)
    patience = request.patience / 1000 + _MARGIN if sites else 0.0  # type: ignore[union-attr]
    return max(settings.answer_seconds, patience)


def _query_fields(http: HttpRequest, form: type[Request]) -> JsonObject:
    """The fields in the query, in the types that the message declares; repeated: a list."""
    fields: JsonObject = {}
    for name, text in http.query_params.multi_items():
        value = _parsed(text) if name in _parsed_fields(form) else text
        if name not in fields:
            fields[name] = value
        elif isinstance(fields[name], list):
            fields[name].append(value)
        else:
            fields[name] = [fields[name], value]
    return fields


def _parsed(text: str) -> Any:
    """A whole number or a truth value where the text is one."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return found if isinstance(found, int) else text


@functools.cache
def _parsed_fields(form: type[msgspec.Struct]) -> frozenset[str]:
    """The fields of a message that hold numbers or truth values."""
    hints = typing.get_type_hints(form)
    return frozenset(
        field.encode_name
        for field in structs.fields(form)
        if {int, bool} & {hints[field.name], *typing.get_args(hints[field.name])}
    )
