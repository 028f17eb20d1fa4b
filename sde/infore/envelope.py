"""What every INFORE request has around its `param`: who asks for what, as forgivingly as there.

Numbers may be texts, and a field that no operation needs is never a reason to refuse.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from sde.wire import Code, Refusal
from sde.wire.forms import LONGEST_NAME, InforeMessage

ANY_DATASET = "__any__"  # what a client asks with that wants the synopses of all data sets
_WHOLE = re.compile(r"\s*([+-]?[0-9]{1,20})(?:\.0*)?\s*")
SMALLEST_UID, LARGEST_UID = -(2**63), 2**64 - 1


def is_infore(message: InforeMessage) -> bool:
    return "requestID" in message


def reply_key(message: InforeMessage) -> str:
    """The Kafka key of a reply: the uid as text, empty if there is none."""
    uid = whole(message.get("uid"))
    return "" if uid is None else str(uid)


class Envelope:
    """A request without its parameters. A field is looked at when an operation needs it."""

    def __init__(self, message: InforeMessage) -> None:
        self._message = message
        request_id = whole(message.get("requestID"))
        if request_id is None:
            self.refuse("requestID", "a whole number", Code.UNKNOWN_OP)
        self.request_id = request_id

    def refuse(self, name: str, expected: str, code: Code = Code.BAD_REQUEST) -> NoReturn:
        given = shown(self._message.get(name))
        raise Refusal(code, f"{name}={given}: expected {expected}", name)

    @property
    def synopsis_id(self) -> int | None:
        return whole(self._message.get("synopsisID"))

    @property
    def uid(self) -> str:
        found = whole(self._message.get("uid"))
        if found is None or not SMALLEST_UID <= found <= LARGEST_UID:
            self.refuse("uid", "the uid of a synopsis, a whole number of 64 bits")
        return str(found)

    @property
    def uid_or_none(self) -> str | None:
        return None if self._message.get("uid") is None else self.uid

    @property
    def dataset_or_none(self) -> str | None:
        name = "key" if self._message.get("dataSetkey") is None else "dataSetkey"
        value = self._message.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str) or len(value) > LONGEST_NAME:
            self.refuse(name, f"a text of 1 to {LONGEST_NAME} characters")
        return str(value)

    @property
    def dataset(self) -> str:
        found = self.dataset_or_none
        if found is None:
            self.refuse("dataSetkey", "the name of a data set")
        return found


def whole(value: Any) -> int | None:
    """A whole number, however it was written; None if it is none."""
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value)
        return int(match[1]) if match else None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
