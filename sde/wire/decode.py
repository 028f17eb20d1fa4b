"""A JSON object becomes a request, or a refusal that names field, value and expectation."""

from __future__ import annotations

import functools
import re
import typing
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec
from msgspec import structs

from sde.wire.faults import Code
from sde.wire.forms import DIGITS, LONGEST_NAME, Expected, refuse, refuse_unknown
from sde.wire.requests import Request

_CLASSES: dict[str, type[Request]] = {
    str(cls.__struct_config__.tag): cls for cls in typing.get_args(Request)
}
OPS = tuple(_CLASSES)
_MISSING = re.compile(r"Object missing required field `([^`]*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")


def decode_request(message: Mapping[str, Any], position: str) -> Request:
    """The request in a message; Refusal says what is wrong. `position` is its id if it has none.

    A field that is null counts as absent.

    >>> decode_request({"op": "delete", "uid": "u"}, "requests-0-17")
    Delete(id='requests-0-17', uid='u', sites=None, deadline=None)
    """
    fields = {name: value for name, value in message.items() if value is not None}
    op = fields.get("op")
    if not isinstance(op, str) or not 0 < len(op) <= LONGEST_NAME:
        refuse("op", op, f"a text of 1 to {LONGEST_NAME} characters")
    cls = _CLASSES.get(op)
    if cls is None:
        refuse("op", op, f"one of {', '.join(OPS)}", Code.UNKNOWN_OP)
    for name in _with_digits(cls) & fields.keys():
        fields[name] = _digits(fields[name])
    window = fields.get("window")
    if isinstance(window, dict):
        fields["window"] = {name: value for name, value in window.items() if value is not None}
    fields.setdefault("id", position)
    try:
        request = msgspec.convert(fields, cls)
    except msgspec.ValidationError as error:
        _refuse(cls, fields, str(error))
    request.check()
    return request


def _digits(value: Any) -> Any:
    """A whole number stands for its digits, in a list too."""
    if isinstance(value, list):
        return [_digits(one) for one in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


@functools.cache
def _with_digits(cls: type[msgspec.Struct]) -> frozenset[str]:
    """The fields of a message in which numbers stand for names."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return frozenset(f.encode_name for f in structs.fields(cls) if DIGITS in _marks(hints[f.name]))


def _marks(annotation: Any) -> list[Any]:
    """What `Annotated` says of a field, the outermost first, through unions."""
    found = list(getattr(annotation, "__metadata__", ()))
    for part in typing.get_args(annotation):
        if typing.get_origin(annotation) is not list:
            found += _marks(part)
    return found


def _refuse(cls: type[msgspec.Struct], fields: dict[str, Any], error: str) -> NoReturn:
    """The fault of a message that msgspec refused, in our words."""
    text, _, place = error.partition(" - at `$")
    path = [name for name in re.split(r"[.\[]", place.rstrip("`")) if name and "]" not in name]
    value: Any = fields
    within = ""
    for name in path:  # follow it into objects that are messages of their own
        inner = _struct_at(cls, name)
        if inner is None or not isinstance(value[name], dict):
            break
        cls, value, within = inner, value[name], f"{within}{name}."
        path = path[1:]
    if path:
        refuse(f"{within}{path[0]}", value.get(path[0]), _expected(cls, path[0]))
    known = [f.encode_name for f in structs.fields(cls)]
    if unknown := _UNKNOWN.match(text):
        if within == "":
            known.append("op")
        refuse_unknown(f"{within}{unknown[1][:80]}", known)
    missing = _MISSING.match(text)
    name = missing[1] if missing else ""
    refuse(f"{within}{name}", value.get(name), _expected(cls, name))


def _struct_at(cls: type[msgspec.Struct], name: str) -> type[msgspec.Struct] | None:
    """The message that a field holds, if it holds one and nothing else."""
    hints = typing.get_type_hints(cls)
    found = [f for f in structs.fields(cls) if f.encode_name == name]
    parts = _parts(hints[found[0].name]) if found else ()
    parts = tuple(p for p in parts if p is not type(None))
    is_struct = len(parts) == 1 and isinstance(parts[0], type(msgspec.Struct))
    return parts[0] if is_struct else None


def _parts(annotation: Any) -> tuple[Any, ...]:
    return typing.get_args(annotation) or (annotation,)


def _expected(cls: type[msgspec.Struct], name: str) -> str:
    hints = typing.get_type_hints(cls, include_extras=True)
    found = [f.name for f in structs.fields(cls) if f.encode_name == name]
    marks = _marks(hints[found[0]]) if found else []
    return next((mark.text for mark in marks if isinstance(mark, Expected)), "an object")
