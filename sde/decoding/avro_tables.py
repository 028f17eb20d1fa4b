"""Avro: messages that are one record each, with a schema's number before it or all of one schema.

A value is what it is in JSON: a number, or a text. Truth values and symbols are texts; bytes are
the text of Avro's JSON form, a character for each byte. Dates, times and timestamps are
milliseconds. A decimal number is an integer if its scale is 0, else the nearest float64. Unions
are not seen: the value of a branch stands at the path of the union. NaN and infinities are null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.decoding.avro_plain import Unreadable, read_record, scaled
from sde.decoding.avro_program import NotFixed, Program, compile_schema
from sde.decoding.avro_schema import AvroSchema, Leaf, parse_schema
from sde.decoding.cells import byte_texts, truths
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.merging import Part, Value, columns_of_values, merge
from sde.decoding.messages import Messages
from sde.decoding.paths import Paths
from sde.decoding.plain_records import PlainDecoder
from sde.decoding.schema_tables import Decoder, Records, read_framed, read_records
from sde.decoding.schemas import Schema, Schemas
from sde.decoding.table import Table
from sde.kernels import avro as kernel
from sde.tuples.column import Coded, Column
from sde.tuples.spans import gather
from sde.wire.faults import Code, Fault, Refusal
from synopses.texts import Texts

_EXACT_SCALE, _LARGEST_EXACT = 22, 2**53  # 10.0**22 is exact
_REASONS = {
    kernel.ENDED: "the record ends inside it",
    kernel.LONG_NUMBER: "a number of more than 64 bits",
    kernel.NOT_INT: "a number of more than 32 bits",
    kernel.BAD_SIZE: "its size is negative, or goes beyond the end of the record",
    kernel.NOT_UTF8: "not UTF-8",
    kernel.BAD_BOOLEAN: "neither 0 nor 1",
    kernel.BAD_SYMBOL: "a number that no symbol of the enum has",
    kernel.BAD_BRANCH: "a number that no branch of the union has",
    kernel.TOO_DEEP: f"more than {kernel.DEPTH} arrays, maps and records inside each other",
    kernel.TOO_MANY: "more elements than the record has bytes for",
    kernel.TRAILING: "bytes are left behind its last field",
}


def read_avro(
    messages: Messages,
    which: NDArray[np.int64],
    paths: frozenset[str] | None,
    limits: Limits,
    letters: Letters,
    schema: Schema,
) -> Iterator[Table]:
    """Tables of the messages `which`, bare records of this schema; Refusal if it is unusable."""
    decoder = avro_decoder(schema, paths, limits)
    return read_records(messages, which, 0, limits, letters, [decoder])


def read_framed_avro(
    messages: Messages,
    which: NDArray[np.int64],
    paths: frozenset[str] | None,
    limits: Limits,
    letters: Letters,
    schemas: Schemas,
) -> Iterator[Table]:
    """Tables of the messages `which`, each with the number of its schema in front."""
    decoder_of = partial(avro_decoder, paths=paths, limits=limits)
    return read_framed(messages, which, limits, letters, schemas, decoder_of)


@lru_cache(maxsize=256)
def avro_decoder(schema: Schema, paths: frozenset[str] | None, limits: Limits) -> Decoder:
    """What reads records of this schema; Refusal says why it cannot be used."""
    if schema.form != "AVRO":
        raise Refusal(Code.BAD_SCHEMA, f"a schema of form {schema.form[:80]}: expected AVRO")
    parsed = parse_schema(schema.text, tuple(text for _, text in schema.references))
    try:
        return _ProgramDecoder(compile_schema(parsed, paths, limits.max_fields))
    except NotFixed:
        return PlainDecoder(partial(_read_plainly, parsed, Paths(paths)), paths, limits)


@dataclass(frozen=True, slots=True)
class _ProgramDecoder:
    """All records at once, in a kernel."""

    _program: Program

    @property
    def columns(self) -> int:
        return len(self._program.columns)

    def read(
        self, records: Records, refuse: Callable[[int, Fault], None]
    ) -> tuple[NDArray[np.int64], dict[str, Column]]:
        program, rows = self._program, len(records)
        shape = (max(1, self.columns), rows)
        words, stops = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        present = np.zeros(shape, np.bool_)
        outcomes, places = np.empty(rows, np.int64), np.empty(rows, np.int64)
        kernel.read_records(
            records.buffer, records.starts, records.ends, program.instructions, program.targets,
            np.empty(kernel.DEPTH * kernel.FRAME, np.int64),
            words, words.view(np.float64), stops, present, outcomes, places,
        )  # fmt: skip
        taken = np.flatnonzero(outcomes == kernel.FINE)
        if len(taken) < rows:
            for row in np.flatnonzero(outcomes != kernel.FINE).tolist():
                refuse(row, _fault(int(outcomes[row]), program.paths[places[row]]))
            words, stops, present = words[:, taken], stops[:, taken], present[:, taken]
        parts: dict[str, list[Part]] = {}
        every = np.arange(len(taken))
        for i, (path, leaf) in enumerate(program.columns):
            column = _column(leaf, records.buffer, words[i], stops[i], present[i])
            parts.setdefault(path, []).append(Part(every, column))
        return taken, {path: merge(len(taken), of_path) for path, of_path in parts.items()}


def _read_plainly(schema: AvroSchema, wanted: Paths, payload: bytes) -> dict[str, Value]:
    try:
        return read_record(schema, payload, wanted)
    except Unreadable as error:
        raise Refusal.of(_fault(error.outcome, error.path)) from None


def _fault(outcome: int, path: str) -> Fault:
    shown = f"{path[:80]}: " if path and outcome != kernel.TRAILING else ""
    return Fault(Code.BAD_RECORD, f"not of its Avro schema: {shown}{_REASONS[outcome]}", path[:80])


def _column(
    leaf: Leaf,
    buffer: NDArray[np.uint8],
    words: NDArray[np.int64],
    stops: NDArray[np.int64],
    present: NDArray[np.bool_],
) -> Column:
    """The cells that the kernel filled, as a column."""
    valid = None if present.all() else present
    data: Any
    match leaf.kind:
        case "int" | "long":
            data = words
        case "float" | "double":
            data = words.view(np.float64)
        case "boolean":
            data = truths(words)
        case "enum":
            data = Coded(Texts.of(leaf.symbols), words.astype(np.int32))
        case "string":
            data = gather(buffer, words, stops)
        case _ if leaf.scale is None:
            data = byte_texts(gather(buffer, words, stops))
        case _:
            return _decimals(leaf.scale or 0, buffer, words, stops, present)
    return Column(data, valid)


def _decimals(
    scale: int,
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    present: NDArray[np.bool_],
) -> Column:
    """Numbers of any size: those of 64 bits at once, longer ones, which are rare, one by one."""
    found: NDArray[Any]
    found, large = np.zeros(len(starts), np.int64), np.empty(len(starts), np.int64)
    large = large[: kernel.unscaled(buffer, starts, ends, present, found, large)]
    inexact, data = large, found
    if scale:
        divided = (found <= _LARGEST_EXACT) & (found >= -_LARGEST_EXACT) & (scale <= _EXACT_SCALE)
        divided[large] = False
        inexact = np.flatnonzero(present & ~divided)
        data = found / 10.0 ** min(scale, _EXACT_SCALE)
    if not len(inexact):
        return Column(data, None if present.all() else present)
    easy = present.copy()
    easy[inexact] = False
    hard: list[dict[str, Value]] = []
    for row in inexact.tolist():
        number = scaled(buffer[starts[row] : ends[row]].tobytes(), scale)
        hard.append({} if number is None else {"": number})
    others = columns_of_values(hard).get("", Column.missing(len(hard)))
    every = np.arange(len(starts))
    return merge(len(starts), [Part(every, Column(data, easy)), Part(inexact, others)])
