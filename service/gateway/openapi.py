"""The OpenAPI document: the table of routes, with the fields that the wire declares."""

from __future__ import annotations

import functools
import inspect

import msgspec

from sde.wire.forms import JsonObject
from service.gateway.asking import MOST_QUESTIONS
from service.gateway.events import MOST_WATCHES
from service.gateway.position import AT_LEAST, LONGEST, POSITION
from service.gateway.problems import MEDIA_TYPE
from service.gateway.routes import ROUTES, Route
from service.gateway.tuples import FIELDS, FORMS

_REF = "#/components/schemas/{name}"
_NOT_IN_BODIES = {"op", "id"}
_FRESH = {"type": "boolean", "description": "ask the engine itself, not a copy of its state"}
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "what was found, and what was expected"},
        "code": {"type": "string", "description": "one of the fault codes, or of the gateway's"},
        "field": {"type": "string", "description": "the field that is to blame"},
        "sent": {"type": "integer", "description": "tuples that were sent before it"},
    },
}
_QUESTIONS = {"type": "array", "maxItems": MOST_QUESTIONS, "items": {"type": "object"}}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "the id of the request: a repeat has the outcome of the first",
    "schema": {"type": "string", "minLength": 1, "maxLength": 512},
}
_AT_LEAST = {
    "name": AT_LEAST,
    "in": "header",
    "description": f"what `{POSITION}` of responses said: answers wait until they show that much",
    "schema": {"type": "string", "maxLength": LONGEST},
}


@functools.cache
def document() -> JsonObject:
    """The whole document, made once."""
    asked = list({route.asks for route in ROUTES if route.asks is not None})
    _, components = msgspec.json.schema_components(asked, ref_template=_REF)
    paths: dict[str, JsonObject] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, components)
    messages = {form.__name__ for form in asked}
    parts = {name: schema for name, schema in components.items() if name not in messages}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Synopses Data Engine", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": {**parts, "Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, components: JsonObject) -> JsonObject:
    fields, required = _fields(route, components)
    text = {"type": "string"}
    parameters: list[JsonObject] = [
        {"name": name, "in": "path", "required": True, "schema": fields.pop(name, text)}
        for name in route.path_fields
    ]
    found: JsonObject = {"summary": _summary(route), "responses": _responses(route)}
    if route.handler in ("ask", "create"):
        parameters.append(_KEY)
    if route.handler in ("ask", "create", "estimates", "tuples"):
        parameters.append(_AT_LEAST)
    if route.has_body and route.asks is not None:
        needed = sorted(required & fields.keys())
        body = {"type": "object", "properties": fields, "required": needed}
        found["requestBody"] = {"content": {"application/json": {"schema": body}}}
    elif route.handler == "tuples":
        media = ["application/json", *FORMS]
        found["requestBody"] = {"required": True, "content": {each: {} for each in media}}
        parameters += [{"name": name, "in": "query", "schema": text} for name in FIELDS]
    elif route.handler == "estimates":
        found["requestBody"] = {"content": {"application/json": {"schema": _QUESTIONS}}}
    elif route.path == "/v1/events":
        several = {"type": "array", "items": text, "maxItems": MOST_WATCHES}
        parameters.append({"name": "watch", "in": "query", "required": True, "schema": several})
    else:
        fields |= dict.fromkeys(route.takes, text)
        parameters += [{"name": n, "in": "query", "schema": s} for n, s in fields.items()]
    if parameters:
        found["parameters"] = parameters
    if route.scope is not None:
        found["security"] = [{"token": [route.scope]}]
    return found


def _fields(route: Route, components: JsonObject) -> tuple[JsonObject, set[str]]:
    """The schemas of a message's fields by their names, and which are required."""
    if route.asks is None:
        return {}, set()
    schema = components[route.asks.__name__]
    left_out = _NOT_IN_BODIES | route.without
    fields = {name: each for name, each in schema["properties"].items() if name not in left_out}
    if route.path.endswith("/estimate"):
        fields["fresh"] = _FRESH
    return fields, set(schema.get("required", ()))


def _summary(route: Route) -> str:
    return route.summary or (inspect.getdoc(route.asks) or "").split("\n\n")[0].replace("\n", " ")


def _responses(route: Route) -> JsonObject:
    fault = {"content": {MEDIA_TYPE: {"schema": {"$ref": _REF.format(name="Problem")}}}}
    return {
        str(route.status): {"description": "the reply"},
        "default": {"description": "what went wrong", **fault},
    }
