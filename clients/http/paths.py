"""Which path of a gateway carries which message of the wire."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from clients.errors import BadInput
from clients.transport import Message
from clients.tuples import encode

_SYNOPSIS = "/v1/synopses/{uid}"
# By `op`; the fields that a path names stand in it, the others in query (GET, DELETE) or body.
PATHS: dict[str, tuple[str, str]] = {
    "create": ("PUT", _SYNOPSIS),
    "delete": ("DELETE", _SYNOPSIS),
    "describe": ("GET", _SYNOPSIS),
    "list": ("GET", "/v1/synopses"),
    "estimate": ("POST", "/v1/estimates"),  # a list of questions
    "streams": ("GET", f"{_SYNOPSIS}/streams"),
    "export": ("GET", f"{_SYNOPSIS}/state"),
    "import": ("POST", f"{_SYNOPSIS}/state"),
    "snapshot": ("POST", f"{_SYNOPSIS}/snapshots"),
    "snapshots": ("GET", "/v1/snapshots"),
    "remove_snapshot": ("DELETE", f"{_SYNOPSIS}/snapshots/{{version}}"),
    "restore": ("POST", f"{_SYNOPSIS}/restore"),
    "watch": ("POST", "/v1/watches"),
    "watches": ("GET", "/v1/watches"),
    "unwatch": ("DELETE", "/v1/watches/{watch}"),
    "plugin": ("PUT", "/v1/plugins/{name}"),
    "plugins": ("GET", "/v1/plugins"),
    "unplug": ("DELETE", "/v1/plugins/{name}"),
    "release": ("POST", "/v1/plugins/{name}/release"),
    "sites": ("GET", "/v1/sites"),
    "source": ("PUT", "/v1/sources/{name}"),
    "sources": ("GET", "/v1/sources"),
    "unsource": ("DELETE", "/v1/sources/{name}"),
    "preview": ("POST", "/v1/sources/preview"),
}
_JSON = "application/json"


class Call(NamedTuple):
    """A request of HTTP: what stands in it besides the headers that all have."""

    method: str
    target: str
    body: bytes | None = None
    headers: Mapping[str, str | bytes] = {}


def call_of(request: Message) -> Call:
    """The call that carries a request; BadInput if none does.

    >>> call_of({"op": "describe", "id": "q1", "uid": "a/b", "digest": True})[:2]
    ('GET', '/v1/synopses/a%2Fb?digest=true')
    """
    op, key = request["op"], _key(request["id"])
    if op not in PATHS:
        raise BadInput(f"op={op!r}: expected one that goes over HTTP: {', '.join(PATHS)}")
    method, path = PATHS[op]
    fields = _fields(request)
    for name in _names_in(path):
        value = fields.pop(name, "")
        if not isinstance(value, str) or not value:
            raise BadInput(f"{name}={value!r}: {op} over HTTP: expected a text, which is not empty")
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    if method in ("GET", "DELETE"):
        query = urlencode([each for name in fields for each in _query(name, fields[name])])
        return Call(method, f"{path}?{query}" if query else path, headers=key)
    return Call(method, path, encode(fields), {**key, "Content-Type": _JSON})


def question_of(estimate: Message) -> bytes:
    """An estimate as it stands in the list of `call_of_questions`."""
    return encode(_fields(estimate))


def call_of_questions(questions: Iterable[bytes]) -> Call:
    """One call for estimates; the reply has the outcome of each, in their order."""
    method, path = PATHS["estimate"]
    return Call(method, path, b"[%b]" % b",".join(questions), {"Content-Type": _JSON})


def _fields(request: Message) -> Message:
    """Those that the path does not say."""
    return {name: value for name, value in request.items() if name not in ("op", "id")}


def _key(request_id: str) -> dict[str, bytes]:
    if not request_id.isprintable():  # a line break would be another header
        raise BadInput(f"id={request_id!r}: over HTTP: expected printable characters")
    return {"Idempotency-Key": request_id.encode()}


def _names_in(path: str) -> list[str]:
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]


def _query(name: str, value: Any) -> list[tuple[str, str]]:
    """A field of a query; that of a list comes once for each of its items."""
    values = value if isinstance(value, list) else [value]
    return [(name, each if isinstance(each, str) else json.dumps(each)) for each in values]
