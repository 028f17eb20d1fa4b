"""Protobuf schemas, made known to Protobuf's own runtime."""

from __future__ import annotations

from typing import Any

from google.protobuf import (
    any_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from sde.decoding.protobuf_parser import parse_proto
from sde.decoding.schemas import Schema
from sde.wire.faults import Code, Refusal

_OWN_NAME = "the schema.proto"
_WELL_KNOWN: dict[str, FileDescriptor] = {
    module.DESCRIPTOR.name: module.DESCRIPTOR
    for module in (
        any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2,
    )
}  # fmt: skip


def load_schema(schema: Schema) -> FileDescriptor:
    """The file, in a pool of its own with all that it imports; Refusal says what is wrong."""
    if schema.form != "PROTOBUF":
        raise Refusal(Code.BAD_SCHEMA, f"a schema of form {schema.form[:80]}: expected PROTOBUF")
    pool = DescriptorPool()
    for name, text in (*schema.references, (_OWN_NAME, schema.text)):
        file = parse_proto(name, text)
        for imported in file.dependency:
            _import(pool, imported, schema)
        _add(pool, file)
    found: FileDescriptor = pool.FindFileByName(_OWN_NAME)
    return found


def message_at(file: FileDescriptor, indexes: list[int]) -> Descriptor:
    """The message with this place in the file, in the message around it, and so on; or Refusal."""
    message: Any = None
    for index in indexes:
        inside = list(
            (
                file.message_types_by_name if message is None else message.nested_types_by_name
            ).values()
        )
        # Entries of maps are messages that nobody wrote.
        written = [inner for inner in inside if not inner.GetOptions().map_entry]
        if not 0 <= index < len(written):
            text = f"no message has the place {indexes[:20]} in the schema"
            raise Refusal(Code.BAD_RECORD, text)
        message = written[index]
    found: Descriptor = message
    return found


def _import(pool: DescriptorPool, name: str, schema: Schema) -> None:
    if name in _WELL_KNOWN:
        known = FileDescriptorProto()
        _WELL_KNOWN[name].CopyToProto(known)
        _add(pool, known)
    elif name not in dict(schema.references):
        text = f"it imports {name[:80]!r}, which is neither referred to nor well known"
        raise Refusal(Code.BAD_SCHEMA, f"the Protobuf schema cannot be used: {text}")


def _add(pool: DescriptorPool, file: FileDescriptorProto) -> None:
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except TypeError as error:  # what the runtime says of names, numbers and types
        text = " ".join(str(error).split())[:200]
        raise Refusal(Code.BAD_SCHEMA, f"the Protobuf schema cannot be used: {text}") from None
