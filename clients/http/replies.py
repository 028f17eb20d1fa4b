"""What a gateway answers, as the replies that the engine gives over Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from clients.errors import Unreachable
from clients.http.calling import Response
from clients.transport import Message
from sde.wire import Code

_CODES = frozenset(Code)  # of the engine: these are answers, whatever the status
_LATER = frozenset({408, 429, 502, 503, 504})
_NO_ANSWER = 504
_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds, where a reply names none
_SHORT_PAUSE = 0.05


class Later(NamedTuple):
    """The gateway, or the engine behind it, asks to be asked again after so many seconds."""

    seconds: float
    trouble: str


def object_of(body: bytes) -> Any:
    """What a body of JSON says; None if it is none."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def outcomes_of(requests: list[Message], response: Response, url: object) -> list[Message | Later]:
    """The replies to the requests of one call; Unreachable if this is no gateway's response."""
    found = object_of(response.body)
    if isinstance(found, list) and len(found) == len(requests):  # of questions, one for each
        told = [each if isinstance(each, dict) else {} for each in found]
        return [
            _outcome(request, each.get("status"), each.get("body"), _PAUSE, url)
            for request, each in zip(requests, told, strict=True)
        ]
    pause = pause_of(response)
    return [_outcome(request, response.status, found, pause, url) for request in requests]


def pause_of(response: Response) -> float:
    """Seconds to wait before the next attempt."""
    if response.status == _NO_ANSWER:
        return _SHORT_PAUSE  # it has waited already
    said = response.headers.get("Retry-After", "")
    return min(float(said), _LONGEST_PAUSE) if said.isdecimal() else _PAUSE


def told_of(members: Any, default: str) -> str:
    """What a problem says of itself."""
    return str(members.get("detail", default)) if isinstance(members, dict) else default


def _outcome(
    request: Message, status: Any, members: Any, pause: float, url: object
) -> Message | Later:
    known = members if isinstance(members, dict) else {}
    head = {"request": request["id"], "op": request["op"]}
    if isinstance(status, int) and 200 <= status < 300 and known:
        return {**known, **head}
    code = known.get("code")
    is_fault = isinstance(code, str)
    if isinstance(status, int) and status in _LATER and not (is_fault and code in _CODES):
        return Later(pause, f"the gateway at {url}: {told_of(known, f'status {status}')}")
    if is_fault:
        return {**head, **_fault(known)}
    raise Unreachable(
        f"{url} answers with status {status}, and not as a gateway does: is this its address?"
    )


def _fault(problem: Mapping[str, Any]) -> Message:
    field = {"field": problem["field"]} if "field" in problem else {}
    return {
        "status": "error",
        "code": problem["code"],
        "message": str(problem.get("detail", "")),
        **field,
    }
