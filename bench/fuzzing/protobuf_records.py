"""Protobuf schemas and messages of them, at random."""

from __future__ import annotations

from random import Random
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from bench.fuzzing.mutations import mutated

TOKENS = (b"\x08\x01", b"\x0a\x00", b"\xff" * 9 + b"\x01", b"\x80", b"\x0a\x02\xc3\x28", b"\x0d")
_SCALARS = (
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64",
    "fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes",
)  # fmt: skip
_TEXTS = ("", "a", "EURUSD", "a text beyond sixteen bytes", "\u00e9", "12.5")
_WELL_KNOWN = ("google.protobuf.Timestamp", "google.protobuf.Int64Value")


class ProtobufRecords:
    """Makes schemas, and messages of them."""

    def __init__(self, seed: int | str) -> None:
        self._rng = Random(seed)

    def schema(self) -> str:
        syntax = self._rng.choice(("proto3", "proto3", "proto2"))
        imports = "".join(f'import "google/protobuf/{n}.proto";' for n in ("timestamp", "wrappers"))
        enum = "enum Kind { NEW = 0; OLD = 1; GONE = -1; }"
        return f'syntax = "{syntax}"; {imports} {enum} {self._message(syntax, "M", 0)}'

    def value(self, descriptor: Descriptor, depth: int = 0) -> Any:
        """A message, about half of whose fields are set."""
        message = GetMessageClass(descriptor)()
        for field in descriptor.fields:
            if self._rng.random() < 0.4 or depth > 4:
                continue
            if (
                field.is_repeated
                and field.message_type
                and field.message_type.GetOptions().map_entry
            ):
                getattr(message, field.name)[self._rng.choice(_TEXTS)] = 7
            elif field.is_repeated:
                values = [self._one(field, depth) for _ in range(self._rng.choice((1, 3)))]
                getattr(message, field.name).extend(values)
            elif field.message_type:
                getattr(message, field.name).CopyFrom(self._one(field, depth))
            else:
                setattr(message, field.name, self._one(field, depth))
        return message

    def mutated(self, payloads: list[bytes]) -> bytes:
        return mutated(self._rng, self._rng.choice(payloads), payloads, TOKENS)

    def _message(self, syntax: str, name: str, depth: int) -> str:
        rng, lines, number = self._rng, [], 0
        for i in range(rng.randint(1, 7)):
            number += rng.choice((1, 1, 1, 5, 200))
            kind = rng.choice((*_SCALARS, *_SCALARS, "Kind", *_WELL_KNOWN))
            made = rng.choice(("plain",) * 6 + ("repeated", "map", "oneof", "nested", "self"))
            label = "optional " if syntax == "proto2" or rng.random() < 0.2 else ""
            if made == "nested" and depth < 3:
                lines.append(self._message(syntax, f"N{i}", depth + 1))
                lines.append(f"{label}N{i} f{i} = {number};")
            elif made == "self":
                lines.append(f"{label}{name} f{i} = {number};")
            elif made == "repeated":
                lines.append(f"repeated {kind} f{i} = {number};")
            elif made == "map":
                lines.append(f"map<string, int32> f{i} = {number};")
            elif made == "oneof":
                number += 1
                members = f"{kind} f{i} = {number - 1}; {name} g{i} = {number};"
                lines.append(f"oneof o{i} {{ {members} }}")
            else:
                lines.append(f"{label}{kind} f{i} = {number};")
        return f"message {name} {{ {' '.join(lines)} }}"

    def _one(self, field: FieldDescriptor, depth: int) -> Any:
        rng = self._rng
        if field.message_type:
            return self.value(field.message_type, depth + 1)
        if field.enum_type:
            return rng.choice((0, 1, -1))
        if field.cpp_type in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT):
            return rng.choice((0.0, -0.0, 1.5, float("nan"), float("inf"), rng.gauss(0, 100)))
        if field.cpp_type == field.CPPTYPE_BOOL:
            return rng.random() < 0.5
        if field.type == field.TYPE_STRING:
            return rng.choice(_TEXTS)
        if field.type == field.TYPE_BYTES:
            return rng.randbytes(rng.choice((0, 3)))
        bits = 64 if field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_UINT64) else 32
        if field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64):
            return rng.choice((0, 1, 300, 2**bits - 1, rng.getrandbits(bits)))
        least = -(2 ** (bits - 1))
        return rng.choice((0, 1, -1, least, -least - 1, rng.getrandbits(bits - 1)))
