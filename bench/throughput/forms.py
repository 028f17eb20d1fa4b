"""The forms the tuples come in: how they are written, compressed and read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from bench.throughput import layouts
from bench.throughput.layouts import Rows, texts
from bench.throughput.tuples import DATASET, FIRST_MS, Tuples
from clients.lanes import Parcel
from clients.source_requests import SourceMapping
from clients.tables import encode_frames

LINES = 1_000  # tuples of a message, in lines
Parcels = Callable[[Tuples, int, int], list[Parcel]]  # of tuples, for a lane, so much later


def _each_a_message(rows: Callable[[Tuples, int], Rows]) -> Parcels:
    def parcels(tuples: Tuples, lane: int, shift_ms: int) -> list[Parcel]:
        return [Parcel(row, 1, lane) for row in rows(tuples, shift_ms).each()]

    return parcels


one_a_message = _each_a_message(partial(texts, layouts.ENVELOPE))


def in_lines(tuples: Tuples, lane: int, shift_ms: int) -> list[Parcel]:
    parts = texts(layouts.ENVELOPE + b"\n", tuples, shift_ms).in_lines(LINES)
    return [Parcel(part, part.count(b"\n") + 1, lane) for part in parts]


def in_frames(tuples: Tuples, lane: int, shift_ms: int) -> list[Parcel]:
    """As the SDK makes them of a table."""
    table = layouts.table(tuples, shift_ms)
    frames = encode_frames(table, dataset=DATASET, stream="stream", time="time", lanes=1)
    return [Parcel(frame.payload, frame.tuples, lane) for frame in frames]


@dataclass(frozen=True)
class Form:
    """How tuples lie in a topic, and how an engine is told to read it."""

    name: str
    parcels: Parcels
    read_as: str  # what the own loop has to know of it
    mapping: SourceMapping = field(default_factory=lambda: SourceMapping(format="tuples"))
    codec: str = "uncompressed"
    listener: str = "PLAINTEXT"  # of the broker, for those who read
    times_as_many: int = 1  # faster forms get more tuples, so that each case lasts some seconds


_FIELDS = {"trader": "trader", "price": "px", "volume": "qty"}
_TRADES = SourceMapping(
    format="json",
    dataset=DATASET,
    stream="symbol",
    time="ts",
    fields={**_FIELDS, "trader": "trader.id", "notional": "px * qty"},
    where="venue == 'X' and qty > 0",
)
_AVRO = SourceMapping(
    format="avro",
    schema=layouts.AVRO_SCHEMA,
    dataset=DATASET,
    stream="symbol",
    time="ts",
    fields=_FIELDS,
)
JSON, LZ4, ZSTD, TLS = "json", "json, lz4", "json, zstd", "json, lz4, TLS"
ESCAPED, SHUFFLED, MAPPED = "escaped json", "shuffled json", "mapped json"
AVRO, IN_LINES, ARROW = "avro", "lines", "arrow"
FORMS = {
    form.name: form
    for form in (
        Form(JSON, one_a_message, "json"),
        Form(LZ4, one_a_message, "json", codec="lz4"),
        Form(ZSTD, one_a_message, "json", codec="zstd"),
        Form(TLS, one_a_message, "json", codec="lz4", listener="TLS"),
        Form(ESCAPED, _each_a_message(partial(texts, layouts.ESCAPED)), "json"),
        Form(SHUFFLED, _each_a_message(layouts.shuffled), "json"),
        Form(MAPPED, _each_a_message(partial(texts, layouts.TRADES)), "trades", _TRADES),
        Form(AVRO, _each_a_message(layouts.avro_records), "avro", _AVRO),
        Form(IN_LINES, in_lines, "lines"),
        Form(ARROW, in_frames, "arrow", times_as_many=2),
    )
}


def again_and_again(form: str, tuples: list[Tuples], count: int) -> Iterator[Parcel]:
    """At least `count` tuples: the given ones, again and again at later times."""
    span_ms = int(max(part.times[-1] for part in tuples)) + 1 - FIRST_MS
    for number in range(-(-count // sum(map(len, tuples)))):
        for lane, part in enumerate(tuples):
            yield from FORMS[form].parcels(part, lane, number * span_ms)
