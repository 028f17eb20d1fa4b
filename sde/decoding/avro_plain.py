"""One Avro record, in plain Python: what its bytes mean, whatever the schema is.

`sde.decoding.avro_tables` calls it where the paths of the values are known only with the values;
the program of `sde.kernels.avro` reads everything else, and refuses what is refused here.
"""

from __future__ import annotations

import math
import struct

from sde.decoding.avro_schema import Array, AvroSchema, Leaf, Map, Node, RecordName, Union
from sde.decoding.merging import Value
from sde.decoding.paths import Paths, member
from sde.kernels import avro as kernel

_FLOATS = {"float": struct.Struct("<f"), "double": struct.Struct("<d")}


class Unreadable(Exception):
    """The bytes are not what the schema says: an outcome of the kernel, and where."""

    def __init__(self, outcome: int, path: str) -> None:
        super().__init__(outcome, path)
        self.outcome, self.path = outcome, path


def read_record(schema: AvroSchema, payload: bytes, wanted: Paths) -> dict[str, Value]:
    """The scalar values by path; null is nothing, and NaN and infinities are null."""
    reader = _Reader(schema, payload, wanted)
    reader.value(schema.root, "", 0)
    reader.finish()
    return reader.values


def scaled(data: bytes, scale: int) -> int | float | None:
    """A decimal number: an integer if it has no decimals and 64 bits, else the nearest float64.

    None if it is beyond those.

    >>> scaled((12345).to_bytes(2), 2), scaled((2**63).to_bytes(9), 0)
    (123.45, 9223372036854775808)
    """
    unscaled = int.from_bytes(data, signed=True)
    if scale == 0 and -(2**63) <= unscaled < 2**64:
        return unscaled
    try:
        return float(unscaled / 10**scale)
    except OverflowError:
        return None


class _Reader:
    def __init__(self, schema: AvroSchema, payload: bytes, wanted: Paths) -> None:
        self._schema, self._payload, self._wanted, self._at = schema, payload, wanted, 0
        self._parts = kernel.DEPTH * len(payload) + kernel.PARTS_WITHOUT_BYTES
        self.values: dict[str, Value] = {}

    def finish(self) -> None:
        if self._at != len(self._payload):
            raise Unreadable(kernel.TRAILING, "")

    def value(self, node: Node, path: str, depth: int) -> None:
        if depth > kernel.DEPTH:
            raise Unreadable(kernel.TOO_DEEP, path)
        match node:
            case Leaf():
                value = self._leaf(node, path)
                finite = not isinstance(value, float) or math.isfinite(value)
                if value is not None and finite and self._wanted.have(path):
                    self.values[path] = value
            case RecordName(name):
                self._count(1, path)
                for field, inner in self._schema.records[name].fields:
                    self.value(inner, member(path, field), depth + 1)
            case Union(branches):
                branch = self._number(path)
                if not 0 <= branch < len(branches):
                    raise Unreadable(kernel.BAD_BRANCH, path)
                self.value(branches[branch], path, depth)
            case Array(items):
                self._elements(items, path, depth, is_map=False)
            case Map(values):
                self._elements(values, path, depth, is_map=True)

    def _elements(self, items: Node, path: str, depth: int, is_map: bool) -> None:
        element, around = 0, self.values
        # Of a key that comes twice the last value holds, with all that is inside.
        found: dict[str, dict[str, Value]] = {}
        while count := self._number(path):
            if count < 0:
                count = -count
                if self._number(path) < 0:
                    raise Unreadable(kernel.BAD_SIZE, path)
            self._count(count, path)
            for _ in range(count):
                key = member(path, self._text(path)) if is_map else f"{path}[{element}]"
                self.values = found[key] = {}
                self.value(items, key, depth + 1)
                element += 1
        self.values = around
        for values in found.values():
            around.update(values)

    def _count(self, parts: int, path: str) -> None:
        if parts > self._parts:
            raise Unreadable(kernel.TOO_MANY, path)
        self._parts -= parts

    def _number(self, path: str) -> int:
        value = shift = 0
        while True:
            if shift == 70:
                raise Unreadable(kernel.LONG_NUMBER, path)
            (byte,) = self._take(1, path)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        value &= 2**64 - 1
        return (value >> 1) ^ -(value & 1)

    def _take(self, size: int, path: str, outcome: int = kernel.ENDED) -> bytes:
        if not 0 <= size <= len(self._payload) - self._at:
            raise Unreadable(outcome, path)
        self._at += size
        return self._payload[self._at - size : self._at]

    def _bytes(self, path: str) -> bytes:
        return self._take(self._number(path), path, kernel.BAD_SIZE)

    def _text(self, path: str) -> str:
        try:
            return self._bytes(path).decode()
        except UnicodeDecodeError:
            raise Unreadable(kernel.NOT_UTF8, path) from None

    def _leaf(self, leaf: Leaf, path: str) -> Value | None:
        match leaf.kind:
            case "null":
                return None
            case "int" | "long":
                number = self._number(path)
                if leaf.kind == "int" and not -(2**31) <= number < 2**31:
                    raise Unreadable(kernel.NOT_INT, path)
                return number * leaf.factor // leaf.divisor
            case "float" | "double":
                form = _FLOATS[leaf.kind]
                return float(form.unpack(self._take(form.size, path))[0])
            case "boolean":
                (byte,) = self._take(1, path)
                if byte > 1:
                    raise Unreadable(kernel.BAD_BOOLEAN, path)
                return "true" if byte else "false"
            case "string":
                return self._text(path)
            case "enum":
                symbol = self._number(path)
                if not 0 <= symbol < len(leaf.symbols):
                    raise Unreadable(kernel.BAD_SYMBOL, path)
                return leaf.symbols[symbol]
        data = self._bytes(path) if leaf.kind == "bytes" else self._take(leaf.size, path)
        if leaf.scale is None:
            return data.decode("latin-1")
        return scaled(data, leaf.scale)
