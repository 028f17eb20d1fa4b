"""A Protobuf message's descriptor becomes the tables by which `sde.kernels.protobuf` reads it.

Each message that is read, at its path, is a node; those that are not read share one for each type,
which checks them only, so that a message may be inside itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from numpy.typing import NDArray

from sde.decoding.paths import Paths, member
from sde.decoding.protobuf_plain import SPANS, WRAPPERS
from sde.kernels import protobuf as kernel
from sde.wire.faults import Code, Refusal

_F = FieldDescriptor
_KINDS = {
    _F.TYPE_INT32: kernel.INT32,
    _F.TYPE_ENUM: kernel.INT32,
    _F.TYPE_INT64: kernel.INT64,
    _F.TYPE_UINT64: kernel.INT64,
    _F.TYPE_UINT32: kernel.UINT32,
    _F.TYPE_SINT32: kernel.SINT32,
    _F.TYPE_SINT64: kernel.SINT64,
    _F.TYPE_BOOL: kernel.BOOL,
    _F.TYPE_FIXED32: kernel.FIXED32,
    _F.TYPE_SFIXED32: kernel.SFIXED32,
    _F.TYPE_FLOAT: kernel.FLOAT,
    _F.TYPE_FIXED64: kernel.FIXED64,
    _F.TYPE_SFIXED64: kernel.FIXED64,
    _F.TYPE_DOUBLE: kernel.DOUBLE,
    _F.TYPE_STRING: kernel.STRING,
    _F.TYPE_BYTES: kernel.BYTES,
    _F.TYPE_MESSAGE: kernel.MESSAGE,
}
_MOST_NODES = 10_000  # messages inside each other may make many of a short schema


class NotFixed(Exception):
    """The kernel cannot read the paths: lists and maps, and enums of proto2."""


@dataclass(frozen=True, slots=True)
class Program:
    """Column i has the values of the field columns[i][1], which is at the path columns[i][0]."""

    nodes: NDArray[np.int64]
    fields: NDArray[np.int64]
    lists: NDArray[np.int64]
    columns: list[tuple[str, FieldDescriptor]]
    names: list[str]  # of the fields


def compile_message(message: Descriptor, wanted: Paths, most_fields: int) -> Program:
    """NotFixed, or Refusal if it becomes too large."""
    compiler = _Compiler(wanted, most_fields)
    compiler.add_node(message, "", read=True)
    compiler.add_unread()
    lists: list[int] = []
    fields: list[tuple[int, ...]] = []
    nodes: list[tuple[int, ...]] = []
    names: list[str] = []
    for node in compiler.nodes:
        first, defaults = len(fields), len(lists)
        lists += node.defaults
        after = len(lists)
        for field in sorted(node.fields, key=lambda field: field.number):
            cleared = len(lists)
            lists += field.clears
            fields.append(
                (field.number, field.kind, field.column, field.child, cleared, len(lists))
            )
            names.append(field.name)
        nodes.append((first, len(fields), defaults, after))
    return Program(
        np.array(nodes, np.int64).reshape(-1),
        np.array(fields or [(0,) * kernel.FIELD], np.int64).reshape(-1),
        np.array(lists or [0], np.int64),
        compiler.columns,
        names,
    )


@dataclass(slots=True)
class _Field:
    number: int
    kind: int
    name: str
    column: int
    child: int
    clears: list[int]


@dataclass(slots=True)
class _Node:
    fields: list[_Field]
    defaults: list[int]


class _Compiler:
    def __init__(self, wanted: Paths, most_fields: int) -> None:
        self._wanted, self._most = wanted, most_fields
        self.nodes: list[_Node] = []
        self.columns: list[tuple[str, FieldDescriptor]] = []
        self._inside: list[str] = []  # messages whose fields are being compiled
        self._unread: dict[str, tuple[int, Descriptor]] = {}

    def add_node(self, message: Descriptor, path: str, read: bool) -> int:
        """The number of the node of the message at `path`."""
        if read and self._wanted.every and message.full_name in self._inside:
            raise NotFixed
        number = self._new_node()
        self._inside.append(message.full_name)
        self._fill(number, message, path, read)
        self._inside.pop()
        return number

    def add_unread(self) -> None:
        """Fill the nodes of messages that are only checked; they may need more of them."""
        done = 0
        while done < len(self._unread):
            number, message = list(self._unread.values())[done]
            self._fill(number, message, message.full_name, read=False)
            done += 1

    def _new_node(self) -> int:
        if len(self.nodes) == _MOST_NODES:
            text = f"the Protobuf schema cannot be used: more than {_MOST_NODES:,} messages"
            raise Refusal(Code.TOO_LARGE, text)
        self.nodes.append(_Node([], []))
        return len(self.nodes) - 1

    def _unread_node(self, message: Descriptor) -> int:
        if message.full_name not in self._unread:
            self._unread[message.full_name] = self._new_node(), message
        return self._unread[message.full_name][0]

    def _fill(self, number: int, message: Descriptor, path: str, read: bool) -> None:
        node, ranges = self.nodes[number], {}
        is_value = message.full_name in WRAPPERS or message.full_name in SPANS
        for field in message.fields:
            # The values inside of these stand at the path of the whole.
            inner = path if is_value and read else member(path, field.name)
            before = len(self.columns)
            node.fields.append(self._field(node, field, inner, read))
            ranges[field.name] = range(before, len(self.columns))
        for oneof in message.oneofs:
            for own in node.fields:
                others = [f.name for f in oneof.fields if f.number != own.number]
                if len(others) < len(oneof.fields):
                    own.clears = [column for other in others for column in ranges[other]]

    def _field(self, node: _Node, field: FieldDescriptor, path: str, read: bool) -> _Field:
        if field.type not in _KINDS:
            text = f"the Protobuf schema cannot be used: {field.full_name} has a type not known"
            raise Refusal(Code.BAD_SCHEMA, text)
        kind, column, child = _KINDS[field.type], -1, 0
        read = read and self._wanted.touch(path)
        if field.is_repeated:
            self._require_fixed(field, path, read)
            read, kind = False, kind + kernel.REPEATED
        if field.message_type:
            if read:
                child = self.add_node(field.message_type, path, read)
            else:
                child = self._unread_node(field.message_type)
        elif read and self._wanted.have(path):
            column = self._column(field, path)
            if not field.has_presence:
                node.defaults.append(column)
        return _Field(field.number, kind, path, column, child, [])

    def _require_fixed(self, field: FieldDescriptor, path: str, read: bool) -> None:
        is_map = field.message_type and field.message_type.GetOptions().map_entry
        if read and (self._wanted.every or is_map or self._wanted.elements(path)):
            raise NotFixed

    def _column(self, field: FieldDescriptor, path: str) -> int:
        if field.enum_type and field.enum_type.is_closed:
            raise NotFixed
        if len(self.columns) == self._most:
            text = f"the Protobuf schema cannot be used: more than {self._most} values in a message"
            raise Refusal(Code.TOO_LARGE, text)
        self.columns.append((path, field))
        return len(self.columns) - 1
