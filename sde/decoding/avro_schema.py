"""Avro schemas, parsed: what a record is made of, as far as reading it needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import orjson

from sde.wire.faults import Code, Refusal
from sde.wire.forms import JsonObject

_DAY = 86_400_000  # milliseconds
_MOST_BYTES = 1 << 20  # of a schema
_MOST_NESTED = 64  # types written inside each other
_PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
# By type and logical type: (factor, divisor) to milliseconds.
_TIMES = {
    ("int", "date"): (_DAY, 1),
    ("int", "time-millis"): (1, 1),
    ("long", "time-micros"): (1, 1000),
    **{
        ("long", f"{local}timestamp-{unit}"): (1, divisor)
        for local in ("", "local-")
        for unit, divisor in (("millis", 1), ("micros", 1000), ("nanos", 1_000_000))
    },
}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar value; `scale` is that of a decimal number, in bytes or fixed."""

    kind: str
    factor: int = 1
    divisor: int = 1
    size: int = 0
    symbols: tuple[str, ...] = ()
    scale: int | None = None


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    fields: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class RecordName:
    """The record of this full name: by name, as one may be inside itself."""

    name: str


@dataclass(frozen=True, slots=True)
class Union:
    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Array:
    items: Node


@dataclass(frozen=True, slots=True)
class Map:
    values: Node


Node = Leaf | RecordName | Union | Array | Map


@dataclass(frozen=True, slots=True)
class AvroSchema:
    root: Node
    records: dict[str, Record]


def parse_schema(text: str, references: tuple[str, ...] = ()) -> AvroSchema:
    """The schema; `references` are those of named types it uses. Refusal says what is wrong.

    >>> schema = parse_schema('{"type": "record", "name": "A", "fields": []}')
    >>> schema.root, schema.records
    (RecordName(name='A'), {'A': Record(name='A', fields=())})
    """
    parser = _Parser()
    for reference in references:
        parser.node(_json(reference), "", 0)
    return AvroSchema(parser.node(_json(text), "", 0), parser.records)


def _json(text: str) -> Any:
    if len(text) > _MOST_BYTES:
        _refuse(f"{len(text):,} characters: expected at most {_MOST_BYTES:,}")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if text.strip() in _PRIMITIVES:  # some registries give the name of a type without quotes
            return text.strip()
        _refuse(f"not JSON: {error}")


def _refuse(text: str) -> NoReturn:
    raise Refusal(Code.BAD_SCHEMA, f"the Avro schema cannot be used: {text}")


class _Parser:
    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self._named: dict[str, Node] = {}

    def node(self, found: Any, space: str, depth: int) -> Node:
        """What `found` says, inside a namespace."""
        if depth > _MOST_NESTED:
            _refuse(f"more than {_MOST_NESTED} types inside each other")
        if isinstance(found, str):
            return self._by_name(found, space)
        if isinstance(found, list):
            return Union(tuple(self.node(branch, space, depth + 1) for branch in found))
        if not isinstance(found, dict):
            _refuse(f"{str(found)[:80]!r}: expected a type")
        kind = found.get("type")
        if kind in ("record", "error"):
            return self._record(found, space, depth)
        if kind == "enum":
            return self._enum(found, space)
        if kind == "fixed":
            size = self._count(found, "size")
            return self._name(found, space, _decimal(found, Leaf("fixed", size=size)))
        if kind == "array":
            return Array(self.node(found.get("items"), space, depth + 1))
        if kind == "map":
            return Map(self.node(found.get("values"), space, depth + 1))
        if isinstance(kind, str) and kind in _PRIMITIVES:
            return _logical(found, kind)
        return self.node(kind, space, depth + 1)

    def _by_name(self, name: str, space: str) -> Node:
        if name in _PRIMITIVES:
            return Leaf(name)
        for full in ([f"{space}.{name}"] if space and "." not in name else []) + [name]:
            if full in self._named:
                return self._named[full]
        _refuse(f"type {name[:80]!r} is not defined before it is used")

    def _name(self, found: JsonObject, space: str, node: Leaf) -> Leaf:
        self._named[_full_name(found, space)] = node
        return node

    def _record(self, found: JsonObject, space: str, depth: int) -> Node:
        name = _full_name(found, space)
        node = self._named[name] = RecordName(name)
        inner = name.rpartition(".")[0]
        listed = found.get("fields")
        if not isinstance(listed, list):
            _refuse(f"record {name!r} has no list of fields")
        fields = []
        for field in listed:
            if not isinstance(field, dict) or not isinstance(field.get("name"), str):
                _refuse(f"record {name!r} has a field without a name")
            fields.append((field["name"], self.node(field.get("type"), inner, depth + 1)))
        self.records[name] = Record(name, tuple(fields))
        return node

    def _enum(self, found: JsonObject, space: str) -> Leaf:
        symbols = found.get("symbols")
        if (
            not isinstance(symbols, list)
            or not symbols
            or not all(isinstance(symbol, str) for symbol in symbols)
        ):
            _refuse(f"enum {_full_name(found, space)!r} has no list of symbols")
        return self._name(found, space, Leaf("enum", symbols=tuple(symbols)))

    def _count(self, found: JsonObject, name: str) -> int:
        count = found.get(name)
        if not isinstance(count, int) or not 0 <= count < 1 << 31:
            _refuse(f"{name}={str(count)[:80]}: expected a number from 0 to 2**31")
        return count


def _full_name(found: JsonObject, space: str) -> str:
    name, own = found.get("name"), found.get("namespace", space)
    if not isinstance(name, str) or not isinstance(own, str):
        _refuse("a named type without a name")
    return name if "." in name or not own else f"{own}.{name}"


def _logical(found: JsonObject, kind: str) -> Leaf:
    """A primitive type, as its logical type says; one that is not known is passed over."""
    logical = found.get("logicalType")
    if isinstance(logical, str) and (kind, logical) in _TIMES:
        factor, divisor = _TIMES[kind, logical]
        return Leaf(kind, factor, divisor)
    return _decimal(found, Leaf(kind)) if kind == "bytes" else Leaf(kind)


def _decimal(found: JsonObject, leaf: Leaf) -> Leaf:
    scale = found.get("scale", 0)
    if found.get("logicalType") != "decimal" or not isinstance(scale, int) or scale < 0:
        return leaf
    if scale > 1000:
        _refuse(f"scale={scale}: expected at most 1000")
    return Leaf(leaf.kind, size=leaf.size, scale=scale)
