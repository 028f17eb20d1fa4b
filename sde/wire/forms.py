"""Forms that the fields of a message take: their types, and what a fault says was expected.

A field is declared as `Annotated[type, msgspec.Meta(...), Expected(...)]`. msgspec checks the
type; `Expected` words the fault; `Meta(description=...)` is the sentence in the reference.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn

from msgspec import Meta, Struct

from sde.wire.durations import EXPECTED as A_DURATION
from sde.wire.faults import Code, Refusal

LONGEST_NAME = 512  # characters of an id, uid, data set, stream or field name
_A_NAME = f"a text of 1 to {LONGEST_NAME} characters"
_MOST_UIDS = 1000


@dataclass(frozen=True, slots=True)
class Expected:
    """What a fault says that a field should have held."""

    text: str


@dataclass(frozen=True, slots=True)
class _Digits:
    """Marks names for which a whole number stands for its digits."""


DIGITS = _Digits()

Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME), Expected(_A_NAME)]
Uid = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME), Expected(_A_NAME), DIGITS]
Uids = Annotated[
    list[Uid],
    Meta(min_length=1, max_length=_MOST_UIDS),
    Expected(f"a list of 1 to {_MOST_UIDS} uids"),
    DIGITS,
]
FieldNames = Annotated[Name | list[Name], Expected("a field name or a list of field names")]
_MOST_KEYS = 8
KeyFields = Annotated[
    Name | Annotated[list[Name], Meta(min_length=1, max_length=_MOST_KEYS)],
    Expected(f"a field name or a list of 1 to {_MOST_KEYS} field names"),
]
Condition = Annotated[str, Meta(min_length=1), Expected("an expression")]
InforeMessage = dict[str, Any]  # a request in the dialect of INFORE's programs, as it came
JsonObject = Annotated[dict[str, Any], Expected("an object")]
Duration = Annotated[str, Expected(A_DURATION)]
Moment = Annotated[int | str, Expected("milliseconds since the epoch or an ISO 8601 time")]
Flag = Annotated[bool, Expected("true or false")]
SiteNames = Annotated[Name | list[Name], Expected('"*" or a list of the names of sites')]


class OneStream(Struct, frozen=True, forbid_unknown_fields=True):
    """The scope of a synopsis that summarises one stream."""

    stream: Name


Scope = Annotated[
    Literal["dataset", "stream"] | OneStream,
    Expected('"dataset", "stream" or {"stream": "<name>"}'),
]


def refuse(name: str, value: object, expected: str, code: Code = Code.BAD_REQUEST) -> NoReturn:
    """Leave with a fault that names the field, its value and what was expected."""
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    raise Refusal(code, f"{name}={shown}: expected {expected}", name)


def refuse_unknown(name: str, known: list[str]) -> NoReturn:
    """Leave with a fault: a misspelt field must not be ignored in silence."""
    expected = ", ".join(sorted(known))
    raise Refusal(Code.BAD_REQUEST, f"unknown field {name!r}: expected only {expected}", name)


def moment(name: str, value: int | str | None) -> int:
    """Milliseconds since the epoch, from such a number or an ISO 8601 time."""
    try:
        if isinstance(value, str):
            found = datetime.datetime.fromisoformat(value)
            if found.tzinfo is None:
                found = found.replace(tzinfo=datetime.UTC)
            return round(found.timestamp() * 1000)
        if isinstance(value, int) and abs(value) < 2**53:
            return value
    except (ValueError, OverflowError):
        pass
    refuse(name, value, "milliseconds since the epoch or an ISO 8601 time")
