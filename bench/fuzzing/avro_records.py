"""Avro schemas and records of them, at random."""

from __future__ import annotations

import io
from itertools import pairwise
from random import Random
from typing import Any

import fastavro

from bench.fuzzing.mutations import mutated

TOKENS = (b"\x00", b"\x01", b"\x02", b"\xff", b"\x80", b"\xff" * 9 + b"\x01", b"\xc3\x28")
_TEXTS = ("", "a", "EURUSD", "a text beyond sixteen bytes", "\u00e9", "\U0001f600", "12.5")
_LONGS = (0, 1, -1, 63, 64, -65, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63))
_FLOATS = (0.0, -0.0, 1.5, 1e300, 5e-324, float("nan"), float("inf"))


class AvroRecords:
    """Makes schemas, and values that fit them."""

    def __init__(self, seed: int | str) -> None:
        self._rng = Random(seed)
        self._names = 0

    def schema(self) -> dict[str, Any]:
        """A record of a few fields, some of them nested."""
        return self._record(depth=0)

    def value(self, schema: Any) -> Any:
        rng = self._rng
        if isinstance(schema, list):
            return self.value(rng.choice(schema))
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "null":
                return None
            case "boolean":
                return rng.random() < 0.5
            case "int":
                return rng.choice(_LONGS) % 2**31 - rng.choice((0, 2**31))
            case "long":
                return rng.choice((rng.choice(_LONGS), rng.randrange(-(2**40), 2**40)))
            case "float" | "double":
                return rng.choice((rng.choice(_FLOATS), rng.gauss(0, 1e6)))
            case "string":
                return rng.choice(_TEXTS)
            case "bytes":
                return rng.randbytes(rng.choice((0, 3, 20)))
            case "fixed":
                return rng.randbytes(schema["size"])
            case "enum":
                return rng.choice(schema["symbols"])
            case "array":
                return [self.value(schema["items"]) for _ in range(rng.choice((0, 1, 3)))]
            case "map":
                return {f"k{i}": self.value(schema["values"]) for i in range(rng.choice((0, 2)))}
        return {field["name"]: self.value(field["type"]) for field in schema["fields"]}

    def mutated(self, payloads: list[bytes]) -> bytes:
        return mutated(self._rng, self._rng.choice(payloads), payloads, TOKENS)

    def _name(self) -> str:
        self._names += 1
        return f"T{self._names}"

    def _record(self, depth: int) -> dict[str, Any]:
        count = self._rng.randint(1, 6)
        fields = [{"name": f"f{i}", "type": self._type(depth)} for i in range(count)]
        return {"type": "record", "name": self._name(), "fields": fields}

    def _type(self, depth: int) -> Any:
        rng = self._rng
        plain = ("boolean", "int", "long", "float", "double", "string", "bytes")
        made = rng.choice((*plain, *plain, "fixed", "enum", "array", "map", "record", "union"))
        if made == "fixed":
            return {"type": made, "name": self._name(), "size": rng.choice((0, 1, 12))}
        if made == "enum":
            return {"type": made, "name": self._name(), "symbols": ["A", "B", "C"]}
        if made == "union":
            others = rng.choice((["int"], ["string"], ["long", "string"], ["double", "long"]))
            if depth < 3 and rng.random() < 0.5:
                others = [self._record(depth + 1)]
            return rng.choice((["null", *others], [*others, "null"]))
        if depth == 3 or made in plain:
            return made if made in plain else "int"
        if made == "array":
            return {"type": made, "items": self._type(depth + 1)}
        if made == "map":
            return {"type": made, "values": self._type(depth + 1)}
        return self._record(depth + 1)


def written(schema: Any, value: Any) -> bytes:
    return all_written(schema, [value])[0]


def all_written(schema: Any, values: list[Any]) -> list[bytes]:
    """The bytes of each value."""
    parsed, out = fastavro.parse_schema(schema), io.BytesIO()
    ends = []
    for value in values:
        fastavro.schemaless_writer(out, parsed, value)
        ends.append(out.tell())
    whole = out.getvalue()
    return [whole[start:end] for start, end in pairwise([0, *ends])]


def read_by_fastavro(schema: Any, payload: bytes) -> Any:
    """The value; raises an Exception if the bytes are not one value of the schema."""
    source = io.BytesIO(payload)
    value = fastavro.schemaless_reader(source, fastavro.parse_schema(schema), None)
    if source.tell() != len(payload):
        raise ValueError("bytes are left")
    return value
