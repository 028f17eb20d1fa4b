"""A .proto file becomes a descriptor for Protobuf's own runtime, which resolves names and checks.

Proto2 and proto3: messages, enums, oneofs, maps, imports. Options, services and extensions say
nothing about how a message is read and are passed over. Groups and editions are refused.
"""

from __future__ import annotations

import re
from typing import NoReturn

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from sde.wire.faults import Code, Refusal

_MOST_CHARACTERS = 1 << 20
_MOST_NESTED = 30  # messages inside each other; the runtime allows 32
_TOKEN = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
    | (?P<text>"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
    | (?P<word>\.?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
    | (?P<number>[0-9][0-9A-Za-z_.]*(?:(?<=[eE])[+-][0-9]+)?)
    | (?P<sign>[{}\[\]()<>=;,:+\-./])""",
    re.VERBOSE | re.DOTALL,
)
_SCALARS = {
    name: FieldDescriptorProto.Type.Value(f"TYPE_{name.upper()}")
    for name in (
        "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64",
        "fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes",
    )
}  # fmt: skip
_LABELS = {
    "optional": FieldDescriptorProto.LABEL_OPTIONAL,
    "required": FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": FieldDescriptorProto.LABEL_REPEATED,
}


def parse_proto(name: str, text: str) -> FileDescriptorProto:
    """The file of this name; Refusal says what in it is not understood."""
    if len(text) > _MOST_CHARACTERS:
        _refuse(f"{len(text):,} characters: expected at most {_MOST_CHARACTERS:,}")
    return _Parser(name, text).file()


def _refuse(text: str) -> NoReturn:
    raise Refusal(Code.BAD_SCHEMA, f"the Protobuf schema cannot be used: {text}")


class _Parser:
    def __init__(self, name: str, text: str) -> None:
        self._name, self._text, self._at = name, text, 0
        self._kind, self._token, self._line = "", "", 1
        self._proto3 = False
        self._next()

    def file(self) -> FileDescriptorProto:
        file = FileDescriptorProto(name=self._name, syntax="proto2")
        while self._kind:
            match self._take():
                case "syntax":
                    self._expect("=")
                    file.syntax = self._string()
                    if file.syntax not in ("proto2", "proto3"):
                        self._fail(f"syntax {file.syntax[:20]!r}: expected proto2 or proto3")
                    self._proto3 = file.syntax == "proto3"
                    self._expect(";")
                case "package":
                    file.package = self._word()
                    self._expect(";")
                case "import":
                    if self._token in ("public", "weak"):
                        self._next()
                    file.dependency.append(self._string())
                    self._expect(";")
                case "message":
                    self._message(file.message_type.add(), 1)
                case "enum":
                    self._enum(file.enum_type.add())
                case "option":
                    self._skip_statement()
                case "service" | "extend":
                    self._word()
                    self._skip_block("{", "}")
                case ";":
                    pass
                case other:
                    self._fail(f"{other[:80]!r}: expected a message, an enum or an import")
        return file

    def _message(self, message: DescriptorProto, depth: int) -> None:
        if depth > _MOST_NESTED:
            self._fail(f"more than {_MOST_NESTED} messages inside each other")
        message.name = self._word()
        optional: list[FieldDescriptorProto] = []
        self._expect("{")
        while not self._passed("}"):
            match self._token:
                case "message":
                    self._next()
                    self._message(message.nested_type.add(), depth + 1)
                case "enum":
                    self._next()
                    self._enum(message.enum_type.add())
                case "oneof":
                    self._next()
                    self._oneof(message)
                case "option" | "reserved" | "extensions":
                    self._skip_statement()
                case "extend":
                    self._next()
                    self._word()
                    self._skip_block("{", "}")
                case ";":
                    self._next()
                case _:
                    field = self._field(message)
                    if field.proto3_optional:
                        optional.append(field)
        # A field with `optional` is alone in a oneof that nobody wrote; those come last.
        for field in optional:
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")

    def _oneof(self, message: DescriptorProto) -> None:
        index = len(message.oneof_decl)
        message.oneof_decl.add(name=self._word())
        self._expect("{")
        while not self._passed("}"):
            if self._token == "option":
                self._skip_statement()
            else:
                self._field(message, in_oneof=True).oneof_index = index

    def _field(self, message: DescriptorProto, in_oneof: bool = False) -> FieldDescriptorProto:
        label = "optional"
        if not in_oneof and self._token in _LABELS:
            label = self._take()
            field = message.field.add(label=_LABELS[label])
            field.proto3_optional = self._proto3 and label == "optional"
        else:
            field = message.field.add(label=_LABELS[label])
        if self._token == "group":
            self._fail("a group: expected a message")
        kind = self._word()
        if kind == "map" and self._token == "<":
            self._map(message, field)
        else:
            self._type(field, kind)
            field.name = self._word()
        self._expect("=")
        field.number = self._integer()
        if self._token == "[":
            self._skip_block("[", "]")
        self._expect(";")
        return field

    def _map(self, message: DescriptorProto, field: FieldDescriptorProto) -> None:
        """A map is a list of messages with a key and a value."""
        self._expect("<")
        key = self._word()
        self._expect(",")
        value = self._word()
        self._expect(">")
        field.name = self._word()
        words = field.name.split("_")
        entry = message.nested_type.add(
            name="".join(w[:1].upper() + w[1:] for w in words) + "Entry"
        )
        entry.options.map_entry = True
        for number, (name, kind) in enumerate((("key", key), ("value", value)), 1):
            part = entry.field.add(name=name, number=number, label=_LABELS["optional"])
            self._type(part, kind)
        field.label = _LABELS["repeated"]
        field.type_name = entry.name

    def _type(self, field: FieldDescriptorProto, kind: str) -> None:
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        else:
            field.type_name = kind

    def _enum(self, enum: EnumDescriptorProto) -> None:
        enum.name = self._word()
        self._expect("{")
        while not self._passed("}"):
            if self._token == "option" or self._token == "reserved":
                aliased = self._skip_statement()
                if "allow_alias" in aliased and "true" in aliased:
                    enum.options.allow_alias = True
                continue
            if self._passed(";"):
                continue
            value = enum.value.add(name=self._word())
            self._expect("=")
            value.number = self._integer()
            if self._token == "[":
                self._skip_block("[", "]")
            self._expect(";")

    def _next(self) -> None:
        """The next token that is neither blank nor a comment; its kind is "" at the end."""
        self._kind = self._token = ""
        while self._at < len(self._text):
            found = _TOKEN.match(self._text, self._at)
            if found is None:
                self._fail(f"{self._text[self._at : self._at + 20]!r} is not understood")
            self._at = found.end()
            if found.lastgroup:
                self._kind, self._token = found.lastgroup, found[0]
                break
            self._line += found[0].count("\n")

    def _take(self) -> str:
        token = self._token
        self._next()
        return token

    def _passed(self, sign: str) -> bool:
        """Whether this sign was next; then it is taken."""
        if not self._kind:
            self._fail("the file ends too early")
        if self._token != sign or self._kind == "text":
            return False
        self._next()
        return True

    def _expect(self, sign: str) -> None:
        if not self._passed(sign):
            self._fail(f"{self._token[:80]!r}: expected {sign!r}")

    def _word(self) -> str:
        if self._kind != "word":
            self._fail(f"{self._token[:80]!r}: expected a name")
        return self._take()

    def _string(self) -> str:
        if self._kind != "text":
            self._fail(f"{self._token[:80]!r}: expected a text in quotes")
        return self._take()[1:-1]

    def _integer(self) -> int:
        sign = -1 if self._token == "-" else 1
        if sign < 0:
            self._next()
        token = self._take()
        try:
            octal = len(token) > 1 and token.isdecimal() and token.startswith("0")
            number = sign * (int(token, 8) if octal else int(token[:20], 0))
        except ValueError:
            self._fail(f"{token[:80]!r}: expected a number")
        if not -(2**31) <= number < 2**31:
            self._fail(f"{number}: expected a number of 32 bits")
        return number

    def _skip_statement(self) -> list[str]:
        """To behind the next semicolon outside of brackets; the tokens that were passed."""
        passed, depth = [], 0
        while depth or self._token != ";" or self._kind == "text":
            if not self._kind:
                self._fail("the file ends too early")
            if self._kind == "sign":
                depth += (self._token in "{[") - (self._token in "}]")
            passed.append(self._take())
        self._next()
        return passed

    def _skip_block(self, opening: str, closing: str) -> None:
        self._expect(opening)
        depth = 1
        while depth:
            if not self._kind:
                self._fail("the file ends too early")
            if self._kind == "sign":
                depth += (self._token == opening) - (self._token == closing)
            self._next()

    def _fail(self, text: str) -> NoReturn:
        _refuse(f"line {self._line} of {self._name[:80]!r}: {text}")
