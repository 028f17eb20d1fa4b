"""Arrow frames, valid and mutated."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from bench.fuzzing.mutations import mutated

FRAME_START = b"\xff\xff\xff\xff"
TOKENS = (
    b"\x00\x00\x00\x00", b"\x01\x00\x00\x00", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", FRAME_START,
    b"\xff" * 7 + b"\x7f", b"\x08\x00\x00\x00\x00\x00\x00\x00", b"\x00" * 8, b"\xc3", b"stream",
)  # fmt: skip


def frame(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    payload: bytes = sink.getvalue().to_pybytes()
    return payload


class Frames:
    """Makes frames."""

    def __init__(self, seed: int | str) -> None:
        self._rng = Random(seed)
        self._valid = [frame(table) for table in _tables()]

    def frames(self, count: int) -> list[bytes]:
        rng, valid = self._rng, self._valid
        frames = []
        for _ in range(count):
            one = valid[int(rng.random() * len(valid))]
            frames.append(FRAME_START + mutated(rng, one, valid, TOKENS)[len(FRAME_START) :])
        return frames


def _tables() -> list[pa.Table]:
    stream = ["S1", "a name beyond sixteen", "S1", "\u00e9"]
    named = {"dataset": "Forex"}
    coded = pa.array(["a", None, "b", "a"]).dictionary_encode()
    times = pa.array([1_700_000_000_000, None, 5, 6], pa.timestamp("ms"))
    truths, large = [True, None, False, True], pa.array([2**63] * 4, pa.uint64())
    decimals = {"stream": stream, "id": coded, "x": [1.5, None, 2.5, 3.5], "time": times}
    return [
        pa.table({"stream": stream, "v": [1, 2, 3, 4]}).replace_schema_metadata(named),
        pa.table(decimals).replace_schema_metadata(named),
        pa.table({"dataset": ["d", "e", "d", None], "stream": coded, "on": truths}),
        pa.table({"dataset": coded, "stream": [1, 2, 3, 4], "large": large}),
    ]
