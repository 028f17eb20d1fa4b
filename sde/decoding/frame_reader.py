"""One Arrow frame, from bytes that anybody may have sent to a table that can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sde.decoding.arrow_columns import check_type, decoded_bytes, normal_form
from sde.decoding.limits import Limits
from sde.wire.arrow_header import is_compressed
from sde.wire.faults import Code, Refusal

ENVELOPE = ("dataset", "stream", "time")
_MOST_EXPANDED = 64  # times the bytes of the frame, once its dictionaries are written out
_SLACK = 1 << 20
_OPTIONS = pa.ipc.IpcReadOptions(use_threads=False)


@dataclass(frozen=True, slots=True)
class Frame:
    """`dataset` is the data set of all rows; None if a column of that name has it."""

    sent: pa.Table  # as it is in the message, for dead letters
    table: pa.Table  # columns in their normal form
    dataset: str | None


def read_frame(payload: NDArray[np.uint8], limits: Limits, wanted: frozenset[str] | None) -> Frame:
    """Refusal says why a frame cannot be read, and names the column if it is one's fault.

    Its table has the fields that are wanted (None: all) and the envelope.
    """
    with refusing_damage():
        table = read_stream(payload)
        dataset = _dataset(table, limits)
        _check_schema(table, limits)
        chunks = [chunk for column in table.columns for chunk in column.chunks]
        refuse_expanding(sum(map(decoded_bytes, chunks)), payload)
        columns = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            check_type(name, column.type)
            is_read = wanted is None or name in wanted or name in ENVELOPE
            if is_read and not pa.types.is_null(column.type):
                columns[name] = normal_form(column.combine_chunks())
        if "time" in columns and not _are_times(columns["time"], table["time"]):
            raise Refusal(Code.BAD_FRAME, "column 'time' has times beyond 64 bits", "time")
    return Frame(table, pa.table(columns), dataset)


@contextmanager
def refusing_damage() -> Iterator[None]:
    """Whatever Arrow raises about bytes gone wrong, which is about anything, becomes a Refusal."""
    try:
        yield
    except Refusal:
        raise
    except Exception as error:
        text = f"not an Arrow IPC stream that can be read: {str(error)[:200] or repr(error)}"
        raise Refusal(Code.BAD_FRAME, text) from None


def read_stream(payload: NDArray[np.uint8]) -> pa.Table:
    """The table of an IPC stream, checked; to be called while damage is refused."""
    # A copy, which is aligned as Arrow wants it.
    source = pa.py_buffer(payload.tobytes())
    _refuse_compressed(source)
    table = pa.ipc.open_stream(source, options=_OPTIONS).read_all()
    table.validate(full=True)
    return table


def refuse_expanding(expanded: int, payload: NDArray[np.uint8]) -> None:
    """Refusal if the columns would take so many bytes, and these are much more than the frame."""
    most = _MOST_EXPANDED * len(payload) + _SLACK
    if expanded > most:
        text = f"a frame of {expanded:,} bytes once decoded: expected at most {most}"
        raise Refusal(Code.TOO_LARGE, text)


def _are_times(found: pa.Array, sent: pa.ChunkedArray) -> bool:
    """Whether the normal form of a column has each of its times as a number."""
    return bool(found.type == pa.int64() and found.null_count == sent.null_count)


def _refuse_compressed(source: pa.Buffer) -> None:
    """Refusal before anything is unpacked: see `sde.wire.arrow_header`."""
    for message in pa.ipc.MessageReader.open_stream(source):
        if is_compressed(memoryview(message.metadata)):
            text = "a compressed Arrow frame: expected an uncompressed one (Kafka compresses)"
            raise Refusal(Code.BAD_FRAME, text)


def _dataset(table: pa.Table, limits: Limits) -> str | None:
    """The data set that the schema's metadata names; None if there is a column of it."""
    if "dataset" in table.column_names:
        return None
    dataset: str = (table.schema.metadata or {}).get(b"dataset", b"").decode()
    if not 0 < len(dataset) <= limits.max_name:
        text = (
            f"dataset={dataset[:80]!r}: expected a column, or a text of 1 to {limits.max_name} "
            "characters in the schema's metadata"
        )
        raise Refusal(Code.BAD_FRAME, text, "dataset")
    return dataset


def _check_schema(table: pa.Table, limits: Limits) -> None:
    """Refusal if the columns are too many, not named well, or the envelope has wrong types."""
    names = table.column_names
    fields = len(set(names) - set(ENVELOPE))
    if fields > limits.max_fields:
        text = f"a frame of {fields} fields: expected at most {limits.max_fields}"
        raise Refusal(Code.TOO_LARGE, text)
    for name in names:
        if len(name) > limits.max_name:
            text = f"column {name[:80]!r}...: expected at most {limits.max_name} characters"
            raise Refusal(Code.TOO_LARGE, text, name[:80])
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Refusal(Code.BAD_FRAME, f"column {twice[:80]!r} occurs twice", twice[:80])
    if "stream" not in names:
        raise Refusal(Code.BAD_FRAME, "no column 'stream': expected one of text", "stream")
    for name, wanted in (("stream", "text or numbers"), ("dataset", "text"), ("time", "times")):
        if name in names and not _fits(name, table.schema.field(name).type):
            text = f"column {name!r} has type {table.schema.field(name).type}: expected {wanted}"
            raise Refusal(Code.BAD_FRAME, text, name)


def _fits(name: str, kind: pa.DataType) -> bool:
    t = pa.types
    if t.is_dictionary(kind):
        kind = kind.value_type
    is_text = t.is_string(kind) or t.is_large_string(kind)
    is_time = t.is_integer(kind) or t.is_timestamp(kind) or t.is_date(kind)
    if name == "time":
        return bool(is_time or t.is_null(kind))
    return bool(is_text or (name == "stream" and (t.is_integer(kind) or t.is_floating(kind))))
