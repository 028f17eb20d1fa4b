"""Tuples a second from messages to blocks, on one core: `python -m bench.decode`.

Processor time, best of several runs; the messages are in memory, 250,000 tuples of 5,000 streams.
"""

from __future__ import annotations

import json
import time

import numpy as np
import pyarrow as pa

from sde.decoding import Limits, Messages, decode_tuples

TUPLES, STREAMS, SHARDS, RUNS = 250_000, 5_000, 8, 5
LINES, FRAME = 1_000, 10_000  # tuples of one message


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


def cases() -> dict[str, Messages]:
    rng = np.random.default_rng(1)
    streams = [f"S{i:04d}" for i in rng.integers(0, STREAMS, TUPLES)]
    prices = (rng.integers(10_000, 20_000, TUPLES) / 100).tolist()
    long_prices = (rng.random(TUPLES) * 100).tolist()
    times = (1_700_000_000_000 + np.arange(TUPLES)).tolist()

    def native(stream: str, at: int, price: float, compact: bool = True) -> bytes:
        values = {"StockID": stream, "price": price}
        row = {"dataset": "Forex", "stream": stream, "time": at, "values": values}
        return json.dumps(row, separators=(",", ":") if compact else None).encode()

    rows = [native(*row) for row in zip(streams, times, prices, strict=True)]
    table = pa.table({"stream": streams, "time": times, "StockID": streams, "price": prices})
    return {
        "JSON, one a message": messages(rows),
        "JSON, in lines": messages(in_lines(rows)),
        "JSON, with blanks": messages(
            [native(*row, False) for row in zip(streams, times, prices, strict=True)]
        ),
        "JSON, 17 digits": messages(
            [native(*row) for row in zip(streams, times, long_prices, strict=True)]
        ),
        "JSON, with escapes": messages([row.replace(b"Forex", b"For\\u0065x") for row in rows]),
        "Arrow frames": messages(in_frames(table.replace_schema_metadata({"dataset": "Forex"}))),
    }


def main() -> None:
    for name, arrived in cases().items():
        best = float("inf")
        for _ in range(RUNS):
            started = time.thread_time()
            decoded = decode_tuples(arrived, SHARDS, Limits())
            best = min(best, time.thread_time() - started)
        count = sum(len(block) for block in decoded.blocks)
        size = len(arrived.buffer) / count
        print(f"{name:22} {count / best / 1e6:6.2f} M tuples/s, {size:.0f} bytes each", flush=True)


if __name__ == "__main__":
    main()
