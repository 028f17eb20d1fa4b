"""One tuple from any JSON: what the forms of a tuple mean, in plain Python.

`sde.decoding.segments` calls this for the rows that the fast scanner left: the scanner takes only
what means the same here, and a row that is refused gets its reason here. Tests compare the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn

import orjson

from sde.decoding.limits import Limits
from sde.wire.faults import Code, Refusal
from synopses.hashing import key_text

# Years 1 to 9999: what lies beyond is a time in other units, or would overflow sums.
EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_999
TIME_EXPECTED = "milliseconds since the epoch, in the years 1 to 9999"
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
_ENVELOPE = frozenset(("dataset", "dataSetkey", "stream", "streamID", "time"))


@dataclass(frozen=True, slots=True)
class PlainTuple:
    """`values` are by field name; none is nested: a nested one is None, which counts as missing."""

    dataset: str
    stream: str
    time: int | None
    values: dict[str, Json]


def read_tuple(payload: bytes, limits: Limits) -> PlainTuple:
    """The tuple that stands there; Refusal says what is wrong with it.

    Native: {"dataset", "stream", "time"?, "values": {...}}. INFORE: `dataSetkey`, `streamID`, and
    `values` perhaps a text that holds the object. Flat: no `values`, every other name is a field.
    A nested value, and null, count as a missing field. Of a repeated name the last one holds.
    Integers are exact from -2**63 to 2**64, beyond they are float64; what is too large even for
    that is not JSON here, and neither are NaN and Infinity.

    >>> read_tuple(b'{"dataset": "Forex", "stream": 7, "price": "1.5"}', Limits())
    PlainTuple(dataset='Forex', stream='7', time=None, values={'price': '1.5'})
    """
    if len(payload) > limits.max_tuple_bytes:
        text = f"a tuple of {len(payload):,} bytes: expected at most {limits.max_tuple_bytes:,}"
        raise Refusal(Code.TOO_LARGE, text)
    message = parse_object(payload)
    dataset = _first(message, "dataset", "dataSetkey")
    stream = _first(message, "stream", "streamID")
    return PlainTuple(
        dataset=_name(message, dataset, limits),
        stream=_name(message, stream, limits, or_number=True),
        time=_time(message.get("time")),
        values=_values(message, limits),
    )


def parse_object(payload: bytes) -> dict[str, Json]:
    try:
        message: Json = orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        try:
            payload.decode()
        except UnicodeDecodeError as bad:
            text = f"not UTF-8: {bad.reason} at byte {bad.start}"
            raise Refusal(Code.BAD_ENCODING, text) from None
        raise Refusal(Code.BAD_JSON, f"not JSON: {error}") from None
    if not isinstance(message, dict):
        text = f"{_shown(message)}: expected a JSON object"
        raise Refusal(Code.BAD_JSON, text)
    return message


def _first(message: dict[str, Json], name: str, alias: str) -> str:
    """The name that the message uses; a null under its own name does not count."""
    return alias if message.get(name) is None and alias in message else name


def _name(message: dict[str, Json], name: str, limits: Limits, or_number: bool = False) -> str:
    value = message.get(name)
    if or_number and isinstance(value, int | float) and not isinstance(value, bool):
        return key_text(value)
    if not isinstance(value, str) or not value:
        expected = "a text or a number" if or_number else "a text"
        _refuse(name, value, f"{expected}, not empty")
    if len(value) > limits.max_name:
        _refuse(name, value, f"at most {limits.max_name} characters", Code.TOO_LARGE)
    return value


def _time(value: Json) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse("time", value, f"a number: {TIME_EXPECTED}")
    if not EARLIEST <= value <= LATEST:
        _refuse("time", value, TIME_EXPECTED)
    return math.floor(value)


def _values(message: dict[str, Json], limits: Limits) -> dict[str, Json]:
    values = _fields(message)
    if len(values) > limits.max_fields:
        text = f"a tuple of {len(values)} fields: expected at most {limits.max_fields}"
        raise Refusal(Code.TOO_LARGE, text, "values")
    for name, value in values.items():
        if len(name) > limits.max_name:
            text = f"field name {_shown(name)}: expected at most {limits.max_name} characters"
            raise Refusal(Code.TOO_LARGE, text, name[:80])
        if isinstance(value, dict | list):
            values[name] = None
    return values


def _fields(message: dict[str, Json]) -> dict[str, Json]:
    """The fields of the tuple with their values, in whichever of the three forms it has."""
    if "values" not in message:
        fields = {name: value for name, value in message.items() if name not in _ENVELOPE}
        if not fields:
            _refuse("values", None, "an object with the tuple's fields, or fields beside `stream`")
        return fields
    values = message["values"]
    if isinstance(values, str):
        try:
            values = orjson.loads(values)
        except orjson.JSONDecodeError as error:
            _refuse("values", values, f"an object, or a text that holds one ({error})")
    if not isinstance(values, dict):
        _refuse("values", message["values"], "an object, or a text that holds one")
    return values


def _shown(value: Json) -> str:
    # Never the whole of a large value.
    if isinstance(value, str):
        return repr(value if len(value) <= 80 else value[:77] + "...")
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'an array'} of {len(value)}"
    return "null" if value is None else repr(value)


def _refuse(name: str, value: Json, expected: str, code: Code = Code.BAD_TUPLE) -> NoReturn:
    raise Refusal(code, f"{name}={_shown(value)}: expected {expected}", name)
