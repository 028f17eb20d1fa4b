"""Handlers of what is seen beside the engine's replies: status, batches, dead letters."""

from __future__ import annotations

import base64
import binascii

from msgspec.structs import asdict
from starlette.responses import Response

from clients.transport import Message
from sde.wire import Code
from service.gateway.beside import MOST_BATCHES, MOST_LETTERS, Beside, counted
from service.gateway.call import Call, respond
from service.gateway.datasets import check_all_datasets
from service.gateway.problems import NOT_FOUND, Problem

_A_FEW = 100
# Where its Kafka and its folders are is for those at the machine.
_UNTOLD = {"pid", "host", "bootstrap_servers", "folders", "kafka_problem"}


async def status(call: Call) -> Response:
    """What the engine writes down about itself each second."""
    check_all_datasets(call)
    found = _beside(call).status()
    if found is None:
        detail = "no engine writes its status on this machine; see /readyz whether one answers"
        raise Problem(404, NOT_FOUND, detail)
    told = {name: value for name, value in asdict(found).items() if name not in _UNTOLD}
    return respond({"value": told})


async def batches(call: Call) -> Response:
    """The last lines of the log of batches."""
    check_all_datasets(call)
    return respond({"value": await _beside(call).batches(_limit(call, MOST_BATCHES))})


async def dead_letters(call: Call) -> Response:
    """The last dead letters, the newest first, and how many of the last ones have which code."""
    check_all_datasets(call)
    limit, code = _limit(call, MOST_LETTERS), call.http.query_params.get("code")
    found = await _beside(call).letters()
    wanted = [letter for letter in reversed(found) if code in (None, letter["code"])]
    value = [{**letter, "text": _text(letter)} for letter in wanted[:limit]]
    return respond({"value": value, "codes": counted(found)})


def _beside(call: Call) -> Beside:
    if call.beside is None:
        raise Problem(404, NOT_FOUND, "this gateway sees nothing beside the engine's replies")
    return call.beside


def _limit(call: Call, most: int) -> int:
    said = call.http.query_params.get("limit", str(_A_FEW))
    if not (said.isdecimal() and len(said) < 9 and 1 <= int(said) <= most):
        detail = f"limit={said!r:.80}: expected a whole number from 1 to {most}"
        raise Problem(422, Code.BAD_REQUEST, detail, "limit")
    return int(said)


def _text(letter: Message) -> str:
    """The excerpt as text; a mark stands for each byte that is none."""
    try:
        return base64.b64decode(letter["excerpt"], validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        return ""
