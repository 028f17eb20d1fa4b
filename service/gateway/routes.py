"""What can be asked over HTTP: the one table that the dispatcher and the OpenAPI document read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote_to_bytes

from sde import wire
from sde.wire import Code, Request
from service.gateway.problems import NOT_FOUND, WRONG_METHOD, Problem
from service.http_settings import Scope

# Who carries out a request: `app` has a function for each of these words.
Handler = Literal[
    "ask",
    "create",
    "estimates",
    "one_source",
    "kinds",
    "tuples",
    "events",
    "session",
    "end_session",
    "openapi",
    "live",
    "ready",
    "metrics",
    "status",
    "batches",
    "dead_letters",
    "page",
]
_NO_UIDS = frozenset({"uids"})  # the path names the synopsis


@dataclass(frozen=True, slots=True)
class Route:
    """One line of the table.

    `asks` is the message of the wire whose fields path, query (GET, DELETE) or body (PUT, POST)
    give, except those in `without`. `scope`: what a token must allow; None: nothing is asked.
    """

    method: str
    path: str
    asks: type[Request] | None = None
    scope: Scope | None = "read"
    handler: Handler = "ask"
    status: int = 200
    without: frozenset[str] = frozenset()
    takes: tuple[str, ...] = ()  # what the query may have, where no message says it
    summary: str = ""
    parts: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.path.split("/")[1:]))

    @property
    def path_fields(self) -> tuple[str, ...]:
        return tuple(part[1:-1] for part in self.parts if part.startswith("{"))

    @property
    def op(self) -> str:
        """What metrics call it: the op of its message, or its handler."""
        return self.handler if self.asks is None else str(self.asks.__struct_config__.tag)

    @property
    def has_body(self) -> bool:
        return self.method in ("PUT", "POST") and self.handler not in ("session", "tuples")

    def match(self, parts: tuple[str, ...]) -> dict[str, str] | None:
        """The fields that a path of these parts gives; None if it is another path."""
        if len(parts) != len(self.parts):
            return None
        found = {}
        for mine, part in zip(self.parts, parts, strict=True):
            if mine.startswith("{") and part:
                found[mine[1:-1]] = part
            elif mine != part:
                return None
        return found


_SYNOPSIS = "/v1/synopses/{uid}"
ROUTES = (
    Route("GET", "/v1/synopses", wire.ListAll),
    Route("PUT", _SYNOPSIS, wire.Create, "write", "create", 201),
    Route("GET", _SYNOPSIS, wire.Describe),
    Route("DELETE", _SYNOPSIS, wire.Delete, "write"),
    Route("POST", f"{_SYNOPSIS}/estimate", wire.Ask, without=_NO_UIDS),
    Route(
        "POST",
        "/v1/estimates",
        handler="estimates",
        summary="Several questions at once: a list of estimates, each with its `uid` or `uids`.",
    ),
    Route("GET", f"{_SYNOPSIS}/streams", wire.Streams),
    Route("GET", f"{_SYNOPSIS}/state", wire.Export),
    Route("POST", f"{_SYNOPSIS}/state", wire.Import, "write"),
    Route("GET", f"{_SYNOPSIS}/snapshots", wire.Snapshots),
    Route("POST", f"{_SYNOPSIS}/snapshots", wire.Snapshot, "write", status=201),
    Route("DELETE", f"{_SYNOPSIS}/snapshots/{{version}}", wire.RemoveSnapshot, "write"),
    Route("POST", f"{_SYNOPSIS}/restore", wire.Restore, "write"),
    Route("GET", "/v1/snapshots", wire.Snapshots),
    Route("POST", f"{_SYNOPSIS}/watches", wire.Watch, "write", status=201, without=_NO_UIDS),
    Route("POST", "/v1/watches", wire.Watch, "write", status=201),
    Route("GET", "/v1/watches", wire.Watches),
    Route("DELETE", "/v1/watches/{watch}", wire.Unwatch, "write"),
    Route(
        "GET",
        "/v1/watches/{watch}/events",
        handler="events",
        summary="The answers of a watch as server-sent events; `Last-Event-ID` resumes.",
    ),
    Route(
        "GET",
        "/v1/events",
        handler="events",
        summary="The answers of several watches (`?watch=a&watch=b`) as server-sent events.",
    ),
    Route(
        "POST",
        "/v1/datasets/{dataset}/tuples",
        scope="write",
        handler="tuples",
        summary="Tuples as NDJSON, a JSON list, CSV or an Arrow stream.",
    ),
    Route(
        "GET",
        "/v1/kinds",
        handler="kinds",
        summary="The kinds of the library and of active plug-ins, with what they declare.",
    ),
    Route("GET", "/v1/plugins", wire.Plugins),
    Route("PUT", "/v1/plugins/{name}", wire.Plugin, "admin", status=201),
    Route("DELETE", "/v1/plugins/{name}", wire.Unplug, "admin"),
    Route("POST", "/v1/plugins/{name}/release", wire.Release, "admin"),
    Route("GET", "/v1/sites", wire.Sites),
    Route("GET", "/v1/sources", wire.Sources),
    Route(
        "GET",
        "/v1/sources/{name}",
        handler="one_source",
        summary="One of the sources that are read.",
    ),
    Route("PUT", "/v1/sources/{name}", wire.Source, "admin"),
    Route("DELETE", "/v1/sources/{name}", wire.Unsource, "admin"),
    Route("POST", "/v1/sources/preview", wire.Preview, "admin"),
    Route(
        "POST",
        "/v1/session",
        handler="session",
        status=204,
        summary="For browsers: the token of the request becomes a cookie.",
    ),
    Route(
        "DELETE",
        "/v1/session",
        scope=None,
        handler="end_session",
        status=204,
        summary="Forget that cookie.",
    ),
    Route(
        "GET",
        "/v1/status",
        handler="status",
        summary="What the engine tells of itself each second, if it is on this machine.",
    ),
    Route(
        "GET",
        "/v1/batches",
        handler="batches",
        takes=("limit",),
        summary="The last batches (`limit`: 100, at most 1000), if the engine is on this machine.",
    ),
    Route(
        "GET",
        "/v1/dead-letters",
        handler="dead_letters",
        takes=("limit", "code"),
        summary="The last dead letters, the newest first (`limit`: 100, at most 1000; `code`).",
    ),
    Route("GET", "/", scope=None, handler="page", summary="The console, for browsers."),
    Route("GET", "/console/{file}", scope=None, handler="page", summary="A file of the console."),
    Route("GET", "/openapi.json", scope=None, handler="openapi", summary="This document."),
    Route("GET", "/metrics", handler="metrics", summary="Metrics of engine and gateway."),
    Route("GET", "/livez", scope=None, handler="live", summary="Whether the gateway runs."),
    Route("GET", "/readyz", scope=None, handler="ready", summary="Whether the engine answers."),
)


def find_route(method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
    """The route of a request and the fields in its path; Problem if there is none.

    The path is divided before it is decoded: `%2F` is a character of a uid, no new part.
    """
    try:
        parts = tuple(unquote_to_bytes(part).decode() for part in raw_path.split(b"/")[1:])
    except UnicodeDecodeError:
        raise Problem(400, Code.BAD_ENCODING, "the path: expected UTF-8") from None
    found = [(route, fields) for route in ROUTES if (fields := route.match(parts)) is not None]
    for route, fields in found:
        if route.method == method:
            return route, fields
    if found:
        allowed = ", ".join(sorted({route.method for route, _ in found}))
        detail = f"{method[:20]}: expected {allowed} of this path"
        raise Problem(405, WRONG_METHOD, detail, headers={"Allow": allowed})
    raise Problem(404, NOT_FOUND, "no such path; /openapi.json lists all that there are")
