"""Tuples a second from messages to blocks, on one core: `python -m bench.decode`.

Processor time, best of several runs; the messages are in memory, 250,000 tuples of 5,000 streams.
The last column is the rate as a share of that of the first case: JSON as machines write it. Records
are JSON of any form, of which some paths are read as a table.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from random import Random

import numpy as np
import pyarrow as pa

from sde.decoding import Limits, Messages, decode_tuples
from sde.decoding.json_tables import read_json
from sde.decoding.letters import Letters

TUPLES, STREAMS, SHARDS = 250_000, 5_000, 8
LINES, FRAME = 1_000, 10_000  # tuples of one message
PATHS = frozenset({"symbol", "px", "qty", "ts", "trader.id"})


def messages(payloads: list[bytes]) -> Messages:
    sizes = np.array([len(payload) for payload in payloads], np.int64)
    ends = np.cumsum(sizes + 1) - 1
    buffer = np.frombuffer(bytearray(b"".join(p + b"\n" for p in payloads)), np.uint8)
    offsets = np.arange(len(payloads), dtype=np.int64)
    return Messages("data", 0, buffer, ends - sizes, ends, offsets, offsets + 1_700_000_000_000)


def in_lines(payloads: list[bytes]) -> list[bytes]:
    return [b"\n".join(payloads[i : i + LINES]) for i in range(0, len(payloads), LINES)]


def in_frames(table: pa.Table) -> list[bytes]:
    frames = []
    for start in range(0, len(table), FRAME):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(start, FRAME))
        frames.append(sink.getvalue().to_pybytes())
    return frames


class Producer:
    """Writes the same tuples in one form or another."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self._random = Random(1)
        self.streams = [f"S{i:04d}" for i in rng.integers(0, STREAMS, TUPLES)]
        self.prices: list[float] = (rng.integers(10_000, 20_000, TUPLES) / 100).tolist()
        self.long_prices: list[float] = (rng.random(TUPLES) * 100).tolist()
        self.times: list[int] = (1_700_000_000_000 + np.arange(TUPLES)).tolist()

    def tuples(self, change: Callable[[dict, dict], dict] | None = None, **how) -> list[bytes]:
        """`change` gets a tuple and its values and gives what is written; `how` is json.dumps's."""
        how.setdefault("separators", (",", ":"))
        written = []
        for stream, at, price in zip(self.streams, self.times, self.prices, strict=True):
            values = {"StockID": stream, "price": price}
            row = {"dataset": "Forex", "stream": stream, "time": at, "values": values}
            row = row if change is None else change(row, values)
            written.append(json.dumps(row, **how).encode())
        return written

    def records(self) -> list[bytes]:
        rows = zip(self.streams, self.prices, self.times, strict=True)
        return [
            json.dumps(
                {"symbol": stream, "px": price, "qty": at % 1000, "ts": "2026-11-17T10:00:00Z",
                 "venue": "X", "trader": {"id": f"t{at % 100}"}},
                separators=(",", ":"),
            ).encode()
            for stream, price, at in rows
        ]  # fmt: skip

    def shuffled(self, row: dict, values: dict) -> dict:
        row["values"] = dict(self._random.sample([*values.items()], len(values)))
        return dict(self._random.sample([*row.items()], len(row)))


def long_price(producer: Producer) -> list[bytes]:
    prices = iter(producer.long_prices)
    return producer.tuples(lambda row, values: row | {"values": values | {"price": next(prices)}})


def accented(row: dict, values: dict) -> dict:
    values["StockID"] = row["stream"] = f"Z\u00fcrich {row['stream']}"
    return row


def another_order(row: dict, values: dict) -> dict:
    return {"values": values, "time": row["time"], "stream": row["stream"], "dataset": "Forex"}


def of_three_producers(row: dict, values: dict) -> dict:
    return [another_order, nested, lambda row, values: row][row["time"] % 7 % 3](row, values)


def nested(row: dict, values: dict) -> dict:
    values["venue"] = {"id": row["time"] % 7, "tags": ["a", "b"]}
    return row


def literals(row: dict, values: dict) -> dict:
    return row | {"values": values | {"open": row["time"] % 3 == 0, "note": None}}


def numbers_as_text(row: dict, values: dict) -> dict:
    values["price"] = str(values["price"])
    return row


def numbers_as_streams(row: dict, values: dict) -> dict:
    row["stream"] = int(row["stream"][1:])
    return row


def cases(producer: Producer) -> dict[str, Callable[[], list[bytes]]]:
    write = producer.tuples
    table = pa.table({
        "stream": producer.streams, "time": producer.times, "StockID": producer.streams,
        "price": producer.prices,
    }).replace_schema_metadata({"dataset": "Forex"})  # fmt: skip
    return {
        "JSON, one a message": write,
        "JSON, in lines": lambda: in_lines(write()),
        "with blanks": lambda: write(separators=None),
        "with 17 digits": lambda: long_price(producer),
        "with escapes": lambda: write(accented),
        "with non-ASCII bytes": lambda: write(accented, ensure_ascii=False),
        "pretty-printed": lambda: write(indent=2, separators=None),
        "in another order": lambda: write(another_order),
        "of three producers": lambda: write(of_three_producers),
        "in random order": lambda: write(producer.shuffled),
        "with a nested value": lambda: write(nested),
        "with true, false, null": lambda: write(literals),
        "with numbers as text": lambda: write(numbers_as_text),
        "with numbers as streams": lambda: write(numbers_as_streams),
        "Arrow frames": lambda: in_frames(table),
        "records, five paths": producer.records,
        "records, every path": producer.records,
    }


def count(name: str, arrived: Messages) -> int:
    """Decode the messages; how many tuples or records there are."""
    limits = Limits()
    if not name.startswith("records"):
        blocks = decode_tuples(arrived, SHARDS, limits).blocks
        return sum(len(block) for block in blocks)
    paths = PATHS if "five" in name else None
    which = np.arange(len(arrived))
    letters = Letters(arrived, limits)
    return sum(len(table) for table in read_json(arrived, which, paths, limits, letters))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="cases with this in their names, and the first")
    options = parser.parse_args()
    plain = 0.0
    for name, write in cases(Producer()).items():
        if plain and options.only not in name:
            continue
        arrived, best = messages(write()), float("inf")
        for _ in range(options.runs):
            started = time.thread_time()
            tuples = count(name, arrived)
            best = min(best, time.thread_time() - started)
        rate, size = tuples / best / 1e6, len(arrived.buffer) / tuples
        plain = plain or rate
        print(
            f"{name:24} {rate:6.2f} M tuples/s, {size:3.0f} bytes each, {rate / plain:4.0%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
