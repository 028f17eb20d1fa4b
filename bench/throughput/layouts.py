"""Tuples as the bytes of messages, made at once as a matrix: every field has a fixed width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.throughput.tuples import Tuples

# In a text below, each stands for a digit of a stream, a trader, a price before and behind its
# point, a volume, a time in milliseconds; and for a character of a time as people write it.
_STREAM, _TRADER, _PRICE, _THOUSANDTH, _VOLUME, _TIME, _WRITTEN = (bytes([i]) for i in range(1, 8))
_PRICE_TEXT = 2 * _PRICE + b"." + 3 * _THOUSANDTH


def _envelope(
    trader: bytes, order: Sequence[int] = (0, 1, 2, 3), inner: Sequence[int] = (0, 1, 2)
) -> bytes:
    """Members of the object and of its values, in an order."""
    values = [
        b'"trader":"' + trader + 5 * _TRADER + b'"',
        b'"price":' + _PRICE_TEXT,
        b'"volume":' + 3 * _VOLUME,
    ]
    members = [
        b'"dataset":"Forex"',
        b'"stream":"S' + 4 * _STREAM + b'"',
        b'"time":' + 13 * _TIME,
        b'"values":{' + b",".join(values[i] for i in inner) + b"}",
    ]
    return b"{" + b",".join(members[i] for i in order) + b"}"


ENVELOPE = _envelope(b"T")
ESCAPED = _envelope(b"T\\u00e9")  # as Python's json.dumps writes a name with an accent
_RNG = np.random.default_rng(7)
SHUFFLED = [_envelope(b"T", _RNG.permutation(4), _RNG.permutation(3)) for _ in range(24)]
# A topic of others: nested, with other names, and times as people write them.
TRADES = b",".join(
    [
        b'{"symbol":"S' + 4 * _STREAM + b'"',
        b'"px":' + _PRICE_TEXT,
        b'"qty":' + 3 * _VOLUME,
        b'"ts":"' + 19 * _WRITTEN + b'Z"',
        b'"venue":"X"',
        b'"trader":{"id":"T' + 5 * _TRADER + b'"}}',
    ]
)
BYTES = len(ENVELOPE)
AVRO_SCHEMA = """{"type": "record", "name": "Trade", "fields": [
    {"name": "symbol", "type": "string"}, {"name": "ts", "type": "long"},
    {"name": "trader", "type": "string"}, {"name": "px", "type": "double"},
    {"name": "qty", "type": "int"}]}"""
_AVRO = np.dtype(  # names have five and six characters; numbers as many bytes as these take
    [("stream", "S6"), ("time", "u1", 6), ("trader", "S7"), ("price", "<f8"), ("volume", "u1", 2)]
)


@dataclass(frozen=True)
class Rows:
    """Tuples as texts of one length, one behind the other."""

    bytes: bytes
    width: int

    def each(self) -> list[bytes]:
        return [self.bytes[i : i + self.width] for i in range(0, len(self.bytes), self.width)]

    def in_lines(self, lines: int) -> list[bytes]:
        step = lines * self.width  # a text holds the end of its line, which the last does not want
        return [self.bytes[i : i + step][:-1] for i in range(0, len(self.bytes), step)]


def texts(layout: bytes, tuples: Tuples, shift_ms: int) -> Rows:
    """All times that much later."""
    rows = np.tile(np.frombuffer(layout, np.uint8), (len(tuples), 1))
    times = tuples.times + shift_ms
    for mark, numbers in (
        (_STREAM, tuples.streams),
        (_TRADER, tuples.traders),
        (_PRICE, tuples.prices // 1000),
        (_THOUSANDTH, tuples.prices % 1000),
        (_VOLUME, tuples.volumes),
        (_TIME, times),
    ):
        first, digits = layout.find(mark), layout.count(mark)
        for place in range(digits):
            rows[:, first + digits - 1 - place] = ord("0") + numbers // 10**place % 10
    if _WRITTEN in layout:
        seconds = np.datetime_as_string(times.astype("datetime64[ms]"), unit="s").astype("S19")
        first = layout.find(_WRITTEN)
        rows[:, first : first + 19] = seconds.view(np.uint8).reshape(-1, 19)
    return Rows(rows.tobytes(), len(layout))


def shuffled(tuples: Tuples, shift_ms: int) -> Rows:
    """Each text has its names in one of many orders."""
    chosen = np.random.default_rng(len(tuples)).integers(0, len(SHUFFLED), len(tuples))
    out = np.empty((len(tuples), BYTES), np.uint8)
    for number, layout in enumerate(SHUFFLED):
        own = np.flatnonzero(chosen == number)
        of_layout = texts(layout, tuples.take(own), shift_ms)
        out[own] = np.frombuffer(of_layout.bytes, np.uint8).reshape(-1, BYTES)
    return Rows(out.tobytes(), BYTES)


def avro_records(tuples: Tuples, shift_ms: int) -> Rows:
    rows = np.empty(len(tuples), _AVRO)
    rows["stream"] = _names(b"\x0aS", 4, tuples.streams)  # its length, doubled, in front
    rows["trader"] = _names(b"\x0cT", 5, tuples.traders)
    rows["time"] = _varints(tuples.times + shift_ms, 6)
    rows["price"] = tuples.prices / 1000
    rows["volume"] = _varints(tuples.volumes, 2)
    return Rows(rows.tobytes(), _AVRO.itemsize)


def table(tuples: Tuples, shift_ms: int) -> pa.Table:
    return pa.table(
        {
            "stream": _dictionary(b"S", 4, tuples.streams),
            "time": pa.array(tuples.times + shift_ms),
            "trader": _dictionary(b"T", 5, tuples.traders),
            "price": pa.array(tuples.prices / 1000),
            "volume": pa.array(tuples.volumes),
        }
    )


def _names(prefix: bytes, digits: int, numbers: NDArray[np.int64]) -> NDArray[np.bytes_]:
    return _all_names(prefix, digits, numbers)[numbers]


def _all_names(prefix: bytes, digits: int, numbers: NDArray[np.int64]) -> NDArray[np.bytes_]:
    return np.array([prefix + b"%0*d" % (digits, i) for i in range(int(numbers.max()) + 1)])


def _dictionary(prefix: bytes, digits: int, numbers: NDArray[np.int64]) -> pa.Array:
    names = pa.array(_all_names(prefix, digits, numbers).astype(str))
    return names.take(pa.array(numbers))


def _varints(numbers: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Of Avro, for positive numbers that all take `width` bytes."""
    shifted = (2 * numbers[:, None]) >> (7 * np.arange(width))
    more = np.where(np.arange(width) < width - 1, 0x80, 0)
    return (shifted & 0x7F | more).astype(np.uint8)
