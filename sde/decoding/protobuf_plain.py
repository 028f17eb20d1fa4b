"""One Protobuf message by Protobuf's own runtime: what it means, whatever the schema is.

`sde.decoding.protobuf_tables` reads so where the paths of the values are known only with the
values, and of enums of proto2; the kernel reads everything else, to the same values.
"""

from __future__ import annotations

import math
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from sde.decoding.merging import Value
from sde.decoding.paths import Paths, member
from sde.wire.faults import Code, Refusal

SPANS = frozenset(f"google.protobuf.{name}" for name in ("Timestamp", "Duration"))
WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
MOST_SECONDS = (2**63 - 1) // 1000 - 1  # that are milliseconds within int64, also with a fraction


def read_message(message: Descriptor, wanted: Paths, payload: bytes) -> dict[str, Value]:
    """The scalar values by path; Refusal if the bytes are not such a message."""
    try:
        found = GetMessageClass(message).FromString(payload)
    except DecodeError as error:
        text = f"not of its Protobuf schema: {str(error)[:200]}"
        raise Refusal(Code.BAD_RECORD, text) from None
    values: dict[str, Value] = {}
    try:
        _add(found, "", wanted, values)
    except UnicodeDecodeError:
        raise _not_utf8() from None
    return values


def _add(message: Any, path: str, wanted: Paths, values: dict[str, Value]) -> None:
    """The fields of a message that is at `path`."""
    for field in message.DESCRIPTOR.fields:
        inner = member(path, field.name)
        if not wanted.touch(inner):
            continue
        value = getattr(message, field.name)
        if field.is_repeated and field.message_type and field.message_type.GetOptions().map_entry:
            for key in value:
                shown = str(key).lower() if isinstance(key, bool) else str(key)
                kind = field.message_type.fields_by_name["value"]
                _add_value(kind, value[key], member(inner, shown), wanted, values)
        elif field.is_repeated:
            for i, element in enumerate(value):
                _add_value(field, element, f"{inner}[{i}]", wanted, values)
        elif not field.has_presence or message.HasField(field.name):
            _add_value(field, value, inner, wanted, values)


def _add_value(
    field: FieldDescriptor, value: Any, path: str, wanted: Paths, values: dict[str, Value]
) -> None:
    if field.message_type and field.message_type.full_name in WRAPPERS:
        field, value = field.message_type.fields_by_name["value"], value.value
    if field.message_type and field.message_type.full_name not in SPANS:
        _add(value, path, wanted, values)
    elif wanted.have(path) and (scalar := _scalar(field, value)) is not None:
        values[path] = scalar


def _scalar(field: FieldDescriptor, value: Any) -> Value | None:
    if field.message_type:
        inside = -MOST_SECONDS <= value.seconds <= MOST_SECONDS
        return value.seconds * 1000 + value.nanos // 1_000_000 if inside else None
    if field.enum_type:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else str(known.name)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        if field.type == field.TYPE_STRING:
            raise _not_utf8()
        return value.decode("latin-1")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    found: Value = value
    return found


def _not_utf8() -> Refusal:
    """Of proto2, where the runtime checks texts late: a bad one is bytes, in a list an error."""
    return Refusal(Code.BAD_RECORD, "not of its Protobuf schema: a text is not UTF-8")
