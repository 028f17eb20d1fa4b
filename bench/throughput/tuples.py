"""The tuples everybody gets: 114 bytes of JSON, 5000 streams, keys by Zipf's law.

Every field has a fixed width, so the tuples are a matrix of bytes: made in no time, and the same
tuples can come again at a later time by writing over one field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clients.lanes import Parcel, lane_of
from clients.tables import encode_frames

DATASET, STREAMS, TRADERS = "Forex", 5_000, 20_000
PARTITIONS = 2  # one for each core
LINES = 1_000  # tuples of a message, in lines
BYTES = 114
_TUPLE = (
    b'{"dataset":"Forex","stream":"S0000","time":1700000000000,'
    b'"values":{"trader":"T00000","price":10.000,"volume":100}}'
)
_FIRST_MS, _TUPLES_A_MS = 1_700_000_000_000, 50  # ten ticks a second of each stream


@dataclass(frozen=True)
class Tuples:
    """Columns of one partition's tuples, in their order."""

    streams: NDArray[np.int64]
    traders: NDArray[np.int64]
    prices: NDArray[np.int64]  # thousandths
    volumes: NDArray[np.int64]
    times: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.streams)

    @cached_property
    def matrix(self) -> NDArray[np.uint8]:
        """Each row a tuple and the end of its line."""
        rows = np.tile(np.frombuffer(_TUPLE + b"\n", np.uint8), (len(self), 1))
        _write(rows, _TUPLE.index(b"S0000") + 1, 4, self.streams)
        _write(rows, _TUPLE.index(b"T00000") + 1, 5, self.traders)
        price = _TUPLE.index(b"10.000")
        _write(rows, price, 2, self.prices // 1000)
        _write(rows, price + 3, 3, self.prices % 1000)
        _write(rows, _TUPLE.index(b":100}") + 1, 3, self.volumes)
        return rows

    def at(self, shift_ms: int) -> NDArray[np.uint8]:
        """The matrix with all times that much later. It is one buffer, written over."""
        _write(self.matrix, _TUPLE.index(b"1700"), 13, self.times + shift_ms)
        return self.matrix

    def table(self, shift_ms: int) -> pa.Table:
        return pa.table(
            {
                "stream": _texts("S", 4, self.streams),
                "time": pa.array(self.times + shift_ms),
                "trader": _texts("T", 5, self.traders),
                "price": pa.array(self.prices / 1000),
                "volume": pa.array(self.volumes),
            }
        )


def make_tuples(count: int) -> list[Tuples]:
    """By partition; a stream stays in its own, as the SDK has it."""
    rng = np.random.default_rng(20)
    streams = rng.integers(0, STREAMS, count)
    traders = rng.zipf(1.2, count) % TRADERS
    prices = rng.integers(10_000, 90_000, count)
    volumes = rng.integers(100, 1000, count)
    times = _FIRST_MS + np.arange(count) // _TUPLES_A_MS
    lanes = np.array([lane_of(DATASET, f"S{i:04}", PARTITIONS) for i in range(STREAMS)])
    lane = lanes[streams]
    columns = (streams, traders, prices, volumes, times)
    return [Tuples(*(column[lane == p] for column in columns)) for p in range(PARTITIONS)]


def one_a_message(tuples: Tuples, lane: int, shift_ms: int) -> list[Parcel]:
    joined = tuples.at(shift_ms).tobytes()
    step = BYTES + 1
    return [Parcel(joined[i : i + BYTES], 1, lane) for i in range(0, len(joined), step)]


def in_lines(tuples: Tuples, lane: int, shift_ms: int) -> list[Parcel]:
    rows = tuples.at(shift_ms)
    parts = [rows[i : i + LINES] for i in range(0, len(rows), LINES)]
    return [Parcel(part.tobytes()[:-1], len(part), lane) for part in parts]


def in_frames(tuples: Tuples, lane: int, shift_ms: int) -> list[Parcel]:
    """As the SDK makes them of a table."""
    table = tuples.table(shift_ms)
    frames = encode_frames(table, dataset=DATASET, stream="stream", time="time", lanes=1)
    return [Parcel(frame.payload, frame.tuples, lane) for frame in frames]


FORMS = {"json": one_a_message, "lines": in_lines, "arrow": in_frames}
# Faster forms get more tuples, so that each case lasts some seconds.
TIMES_AS_MANY = {"json": 1, "lines": 2, "arrow": 4}


def again_and_again(form: str, tuples: list[Tuples], count: int) -> Iterator[Parcel]:
    """At least `count` tuples: the given ones, again and again at later times."""
    span_ms = int(max(part.times[-1] for part in tuples)) + 1 - _FIRST_MS
    for number in range(-(-count // sum(map(len, tuples)))):
        for lane, part in enumerate(tuples):
            yield from FORMS[form](part, lane, number * span_ms)


def _write(rows: NDArray[np.uint8], at: int, digits: int, numbers: NDArray[np.int64]) -> None:
    for place in range(digits):
        rows[:, at + digits - 1 - place] = ord("0") + numbers // 10**place % 10


def _texts(letter: str, digits: int, numbers: NDArray[np.int64]) -> pa.Array:
    names = np.array([f"{letter}{i:0{digits}}" for i in range(int(numbers.max()) + 1)])
    return pa.array(names).take(pa.array(numbers))
