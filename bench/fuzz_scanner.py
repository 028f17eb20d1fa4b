"""python -m bench.fuzz_scanner: everything is read as the plain reader reads it, or refused.

Runs the kernels in their checked form (`sde.kernels.compiling`).

rows      rows of JSON, valid, nearly valid and not at all: decoded as the engine does, and again
          with every row left to the plain reader (orjson). The blocks and letters must be equal.
records   the same with JSON of any form and the tables that are read of it.
frames    mutated Arrow frames: each is read or refused, whatever is wanted of it, and the tuples
          beside it are not touched.
batches   mutated record batches of Kafka: what comes out lies inside what went in; payloads, keys,
          headers and the value of one header.

A difference is printed with the message that makes it; the last line says how many there are.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.decode import messages as as_messages
from bench.fuzzing.frames import Frames
from bench.fuzzing.record_batches import RecordBatches
from bench.fuzzing.records import READINGS, Records
from bench.fuzzing.rows import Rows
from sde.decoding import Decoded, Limits, Messages, Pieces, decode_tuples
from sde.decoding.headers import header_values
from sde.decoding.json_tables import read_json
from sde.decoding.letters import Letters
from sde.kernels import json_scan
from sde.kernels.compiling import CHECKED
from sde.tuples.block import Block
from sde.tuples.column import Column
from sde.tuples.needs import Needs, NeedsByDataset
from service.kafka import record_batches
from service.kafka.checksums import damaged_batch
from service.kafka.chunk import Chunk, ChunkShape
from service.kafka.cursor import Cursor
from synopses.texts import Texts

AT_ONCE = {"rows": 5_000, "records": 2_000, "frames": 50, "batches": 500}  # in one turn
SHARDS = 2
SOME = NeedsByDataset({"Forex": Needs(frozenset({"price", "time", "nobody"}), times=True)})
# What the rows of one turn are decoded with: (limits, what is wanted).
WAYS = (
    (Limits(), None),
    (Limits(), None),
    (Limits(max_fields=10_000), SOME),
    (Limits(max_fields=7, max_name=20, max_tuple_bytes=300), None),
)
GOOD = b'{"dataset":"good","stream":"s","v":1}'


@contextmanager
def scanner_off() -> Iterator[None]:
    """The scanner takes nothing."""

    def take_nothing(*args: Any) -> tuple[int, int, int, int, int]:
        row, last_row, entry, spare, part, taken = *args[4:9], args[15]
        taken[row:last_row] = False
        return json_scan.DONE, last_row, entry, spare, part

    with patch.object(json_scan, "scan", take_nothing):
        yield


def plainly(messages: Messages, *how: Any) -> Decoded:
    """Decode as `decode_tuples` does, but with the scanner taking nothing."""
    with scanner_off():
        return decode_tuples(messages, *how)


def rows_differ(payloads: list[bytes], way: int) -> str | None:
    """What is different, if something is."""
    limits, wanted = WAYS[way % len(WAYS)]
    messages = as_messages(payloads)
    try:
        scanned = decode_tuples(messages, SHARDS, limits, wanted)
    except Exception as error:
        return f"{error!r}"
    plain = plainly(messages, SHARDS, limits, wanted)
    if scanned.letters != plain.letters:
        return "other letters"
    if same_blocks(scanned.blocks, plain.blocks):
        return None
    # The same tuples may be cut into other blocks. What is not wanted cannot be compared so.
    same = wanted is None and tuples(scanned.blocks) == tuples(plain.blocks)
    return None if same else "other tuples"


def same_blocks(some: list[Block], others: list[Block]) -> bool:
    """Whether they are the same, array by array."""
    return len(some) == len(others) and all(
        one.fields.keys() == other.fields.keys()
        and _about(one) == _about(other)
        and all(_values(one.fields[n]) == _values(other.fields[n]) for n in one.fields)
        for one, other in zip(some, others, strict=True)
    )


def _about(block: Block) -> list[object]:
    """All of a block but the values of its fields."""
    arrays = [block.stream_of, block.times, block.offsets, block.lines, block.arrivals]
    about = [None if array is None else array.tobytes() for array in arrays]
    return [block.dataset, block.shard, block.base, list(block.streams), about]


def _values(column: Column) -> list[object]:
    data = column.data
    arrays = [data.buffer, data.offsets] if isinstance(data, Texts) else [data]
    return [None if a is None else (a.dtype, a.tobytes()) for a in (*arrays, column.valid)]


def tuples(blocks: list[Block]) -> dict[tuple[int, int], list[object]]:
    """Each tuple by offset and line, if those were kept."""
    found: dict[tuple[int, int], list[object]] = {}
    for block in blocks:
        texts = {name: list(block.texts(name)) for name in block.fields}
        for i in range(len(block.offsets)):
            line = 0 if block.lines is None else int(block.lines[i])
            values = {
                name: texts[name][i]
                for name, column in block.fields.items()
                if column.valid is None or column.valid[i]
            }
            stream, time = block.streams[int(block.stream_of[i])], block.times[i : i + 1].tolist()
            place = (block.base + int(block.offsets[i]), line)
            found[place] = [block.dataset, stream, time, values]
    return found


def records_differ(payloads: list[bytes], way: int) -> str | None:
    reading = READINGS[way % len(READINGS)]
    limits = WAYS[-1 if way % 5 == 0 else 0][0]
    messages = as_messages(payloads)
    try:
        scanned = tables(messages, reading, limits)
    except Exception as error:
        return f"{error!r}"
    with scanner_off():
        plain = tables(messages, reading, limits)
    if scanned[1] != plain[1]:
        return f"other letters, of {reading}"
    return None if scanned[0] == plain[0] else f"other rows, of {reading}"


def tables(
    messages: Messages, reading: tuple[frozenset[str] | None, str | None, bool], limits: Limits
) -> tuple[dict[tuple[int, int], dict[str, str]], list[dict[str, object]]]:
    """Each row by message and place, and the letters."""
    paths, each, lines = reading
    letters = Letters(messages, limits)
    which = np.arange(len(messages))
    rows: dict[tuple[int, int], dict[str, str]] = {}
    for table in read_json(messages, which, paths, limits, letters, each=each, lines=lines):
        places = list(zip(table.message_of.tolist(), table.lines.tolist(), strict=True))
        rows |= {place: {} for place in places}
        for path, column in table.columns.items():
            texts = list(column.texts())
            for i in range(len(table)) if column.valid is None else np.flatnonzero(column.valid):
                rows[places[i]][path] = texts[i]
    return rows, letters.sorted()


def frames_differ(payloads: list[bytes], way: int) -> str | None:
    messages = as_messages([GOOD, *(p for frame in payloads for p in (frame, GOOD))])
    try:
        decoded = decode_tuples(messages, SHARDS, *WAYS[0])
        if decode_tuples(messages, SHARDS, WAYS[0][0], SOME).letters != decoded.letters:
            return "other letters if not all is wanted"
        blocks = [block for block in decoded.blocks if block.dataset == "good"]
    except Exception as error:
        return f"{error!r}"
    count = sum(len(block) for block in blocks)
    return None if count == len(payloads) + 1 else f"{count} good tuples"


def batches_differ(payloads: list[bytes], way: int) -> str | None:
    shape = ChunkShape(0, 40, keys=way % 3 > 0, headers=way % 3 > 1)
    for payload in payloads:
        source = np.full(len(payload) + record_batches.SLACK, 0xFF, np.uint8)
        source[: len(payload)] = np.frombuffer(payload, np.uint8)
        chunk = Chunk(Cursor({}, "t", 0, 0, 100, 1), replace(shape, max_bytes=len(payload)))
        aborted = np.array([[0, 7]][: way % 2], np.int64).reshape(-1, 2)
        try:
            record_batches.following_offset(source, 0, len(payload), 0)
            damaged_batch(source, 0, len(payload), 100)
            _, at, chunk.used, chunk.filled, _, chunk.extra_used = record_batches.unpack(
                source, 0, len(payload), aborted, np.zeros(len(aborted), np.int64), 0, 100,
                *chunk.state(), *chunk.extra_state(),
            )  # fmt: skip
            messages = chunk.messages()
            found = [messages.keys] if messages.keys is not None else []
            if messages.headers is not None:
                found += [messages.headers, header_values(messages.headers, "site")]
        except Exception as error:
            return f"{error!r}"
        within = at <= len(payload) and all(_lie_within(pieces) for pieces in found)
        payloads_fit = (messages.starts <= messages.ends).all()
        payloads_fit &= (messages.ends < len(messages.buffer)).all()
        if not within or not payloads_fit or (np.diff(messages.offsets) <= 0).any():
            return "messages that are not there"
    return None


def _lie_within(pieces: Pieces) -> bool:
    is_there = pieces.starts >= 0
    fits = (pieces.starts <= pieces.ends) & (pieces.ends <= len(pieces.buffer))
    return bool((fits & (is_there | (pieces.ends == -1))).all())


Differ = Callable[[list[bytes], int], str | None]


def fuzz(name: str, turns: Iterator[list[bytes]], total: int, differ: Differ) -> int:
    """How many turns had a difference; each is printed."""
    done = differences = 0
    started = time.monotonic()
    shown = started
    for turn, payloads in enumerate(turns):
        reason = differ(payloads, turn)
        if reason is not None:
            differences += 1
            show(name, turn, reason, payloads, differ)
        done += AT_ONCE[name]
        if done >= total or time.monotonic() - shown > 30:
            shown = time.monotonic()
            rate = done / (shown - started)
            print(f"{name}: {done:,} done, {rate:,.0f} a second", flush=True)
        if done >= total:
            break
    return differences


def show(name: str, turn: int, reason: str, payloads: list[bytes], differ: Differ) -> None:
    """The messages, or lines of them, that make the difference alone; if not, it takes several."""
    alone = [payload for payload in payloads if differ([payload], turn) is not None]
    if name == "rows":
        lines = [line for payload in alone for line in payload.split(b"\n")]
        alone = [line for line in lines if differ([line], turn) is not None] or alone
    print(f"{name}, turn {turn}: {reason}; by itself: {len(alone)}", flush=True)
    for payload in alone[:3]:
        print(f"  {payload[:600]!r}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--batches", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not CHECKED:
        again = [sys.executable, "-m", "bench.fuzz_scanner", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "SDE_CHECKED_KERNELS": "1"})
    rows, frames = Rows(options.seed), Frames(options.seed)
    batches, records = RecordBatches(options.seed), Records(options.seed)
    differences = 0
    for name, turn, total, differ in (
        ("batches", lambda: batches.responses(AT_ONCE["batches"]), options.batches, batches_differ),
        ("frames", lambda: frames.frames(AT_ONCE["frames"]), options.frames, frames_differ),
        ("records", lambda: records.messages(AT_ONCE["records"]), options.records, records_differ),
        ("rows", lambda: rows.messages(AT_ONCE["rows"]), options.rows, rows_differ),
    ):
        differences += fuzz(name, iter(turn, None), total, differ) if total else 0
    print(
        f"{options.rows:,} rows, {options.records:,} records, {options.frames:,} frames, "
        f"{options.batches:,} record batches "
        f"in checked form, seed {options.seed}: {differences} differences"
    )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
