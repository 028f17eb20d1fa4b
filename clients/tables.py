"""Tables as Arrow frames: an Arrow IPC stream a message, the fast way into the engine.

A frame has the column `stream` (text), perhaps `time` (milliseconds), and a column for each
field. Its schema's metadata names the data set.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from clients.arrow import arrow, arrow_trouble_with
from clients.data_frames import as_arrow
from clients.errors import BadInput
from clients.lanes import Parcel, lane_of

ROWS_A_FRAME = 50_000
BYTES_A_FRAME = 2 << 20  # aimed at
MOST_BYTES_A_FRAME = 15 << 20  # the data topic takes 16 MiB
_MOST_SHORT = 1 << 15  # texts that numbers of 16 bits can tell apart
FRAME_START = b"\xff\xff\xff\xff"  # how every Arrow IPC stream begins


def encode_frames(
    table: Any,
    *,
    dataset: str,
    stream: str,
    time: str | None,
    lanes: int,
    place: str = "row",
    first: int = 1,
) -> Iterator[Parcel]:
    """Messages for a pandas DataFrame or an Arrow table, in the lanes of its streams.

    BadInput names a row that cannot be sent by its number; `first` is that of the first one.
    """
    prepared = _prepare(as_arrow(table, place, first), dataset, stream, time)
    _check_streams(stream, prepared["stream"], place, first)
    if "time" in prepared.column_names:
        _check_times(time or "time", prepared["time"], place, first)
    if not prepared.num_rows:
        return
    rows = max(1, min(ROWS_A_FRAME, prepared.num_rows * BYTES_A_FRAME // (prepared.nbytes + 1)))
    # In spans, so that the lanes go on through the table's time side by side.
    for start in range(0, prepared.num_rows, rows * lanes):
        span = prepared.slice(start, rows * lanes)
        for lane, part in _by_lane(span, dataset, lanes):
            frames = -(-part.num_rows // rows)
            even = -(-part.num_rows // frames)  # a lane over its share has no tiny last frame
            for at in range(0, part.num_rows, even):
                yield from _frames_of(part.slice(at, even), lane)


def _by_lane(rows: Any, dataset: str, lanes: int) -> Iterator[tuple[int, Any]]:
    """The rows of each lane that has any, in their order."""
    if lanes == 1:
        yield 0, rows
        return
    from pyarrow import compute

    named = rows["stream"].combine_chunks().dictionary_encode()
    names = named.dictionary.to_pylist()
    lane_of_name = arrow().array([lane_of(dataset, name, lanes) for name in names])
    lane_of_row = lane_of_name.take(named.indices)
    sorted_rows = rows.combine_chunks().take(compute.array_sort_indices(lane_of_row))  # stable
    start = 0
    for each in sorted(compute.value_counts(lane_of_row).to_pylist(), key=lambda c: c["values"]):
        yield each["values"], sorted_rows.slice(start, each["counts"])
        start += each["counts"]


def _frames_of(rows: Any, lane: int) -> Iterator[Parcel]:
    pa = arrow()
    coded = _coded(rows)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, coded.schema) as writer:
        writer.write_table(coded)
    frame = sink.getvalue().to_pybytes()
    if len(frame) <= MOST_BYTES_A_FRAME:
        yield Parcel(frame, rows.num_rows, lane)
    elif rows.num_rows > 1:
        half = rows.num_rows // 2
        yield from _frames_of(rows.slice(0, half), lane)
        yield from _frames_of(rows.slice(half), lane)
    else:
        raise BadInput(f"a row has {len(frame):,} bytes, expected at most {MOST_BYTES_A_FRAME:,}")


def _coded(rows: Any) -> Any:
    """Texts that repeat are sent once, and numbers in their places."""
    pa = arrow()
    columns = {}
    for name in rows.column_names:
        column = rows[name].combine_chunks()
        if pa.types.is_string(column.type):
            coded = column.dictionary_encode()
            texts = len(coded.dictionary)
            if 0 < 2 * texts <= len(column):
                number = pa.int16() if texts <= _MOST_SHORT else pa.int32()
                column = coded.cast(pa.dictionary(number, pa.string()))
        columns[name] = column
    return pa.table(columns, metadata=rows.schema.metadata)


def _prepare(table: Any, dataset: str, stream: str, time: str | None) -> Any:
    """The table with the columns of a frame. Columns named as stream or time stay fields too."""
    pa = arrow()
    names = table.column_names
    if time is None and "time" in names:
        time = "time"
    for reserved, column in (("stream", stream), ("time", time)):
        if column is not None and column not in names:
            raise BadInput(f"{reserved}={column!r}: expected a column, one of {', '.join(names)}")
        if column != reserved and reserved in names:
            raise BadInput(
                f"{reserved}={column!r}: the table has a column {reserved!r} too;"
                " drop it or give it another name"
            )
    if "dataset" in names:
        raise BadInput("the table has a column 'dataset': drop it or give it another name")
    columns = {"stream": _stream_names(stream, table[stream])}
    if time is not None:
        columns["time"] = _milliseconds(time, table[time])
    for name in names:
        if name not in columns:
            columns[name] = _plain(name, table[name])
    return pa.table(columns, metadata={"dataset": dataset})


def _stream_names(name: str, column: Any) -> Any:
    """Texts; whole numbers are their digits, also where pandas made floats of them."""
    pa = arrow()
    if pa.types.is_boolean(column.type):
        raise BadInput(f"column {name!r}: {column.type}, expected texts or whole numbers")
    if pa.types.is_floating(column.type):
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid as error:
            raise BadInput(f"column {name!r}: expected texts or whole numbers: {error}") from error
    return _cast(name, column, pa.string())


def _check_streams(name: str, column: Any, place: str, first: int) -> None:
    """BadInput for a row without a stream."""
    from pyarrow import compute

    missing = compute.fill_null(compute.equal(column, ""), True)
    at = compute.index(missing, True).as_py()
    if at >= 0:
        raise BadInput(f"{place} {first + at}: column {name!r} is empty, expected a stream's name")


def _check_times(name: str, column: Any, place: str, first: int) -> None:
    """BadInput for a row without a time: it would count as of the moment when it arrives."""
    from pyarrow import compute

    at = compute.index(column.is_null(), True).as_py()
    if at >= 0:
        raise BadInput(
            f"{place} {first + at}: column {name!r} is empty, expected a time; drop such rows, or"
            " send them by themselves without the column: then the time is that of arrival"
        )


def _cast(name: str, column: Any, type_: Any) -> Any:
    with arrow_trouble_with(f"column {name!r}"):
        return column.cast(type_)


def _milliseconds(name: str, column: Any) -> Any:
    """Numbers are milliseconds already; text is ISO 8601, in UTC where it names no zone."""
    pa = arrow()
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _cast(name, column, pa.int64())
    if not pa.types.is_temporal(column.type):
        try:
            column = column.cast(pa.timestamp("ns", tz="UTC"))
        except pa.ArrowException:  # Arrow takes zones in all of a column or in none
            column = _cast(name, column, pa.timestamp("ns"))
    zone = column.type.tz if pa.types.is_timestamp(column.type) else None
    with arrow_trouble_with(f"column {name!r}"):
        return column.cast(pa.timestamp("ms", tz=zone), safe=False).cast(pa.int64())


def _plain(name: str, column: Any) -> Any:
    """The column in the types of JSON; dates and times are milliseconds."""
    pa = arrow()
    is_ = pa.types
    if is_.is_dictionary(column.type):
        column = _cast(name, column, column.type.value_type)
    kind = column.type
    if is_.is_boolean(kind) or is_.is_string(kind):
        return column
    if is_.is_uint64(kind):
        # Beyond 63 bits the text keeps every digit, and is the same key as the number.
        with contextlib.suppress(pa.ArrowInvalid):
            return column.cast(pa.int64())
        return column.cast(pa.string())
    if is_.is_integer(kind):
        return _cast(name, column, pa.int64())
    if is_.is_floating(kind) or is_.is_decimal(kind):
        return _cast(name, column, pa.float64())
    if is_.is_timestamp(kind) or is_.is_date(kind):
        return _milliseconds(name, column)
    return _cast(name, column, pa.string())


def decode_frame(payload: bytes) -> list[dict[str, Any]]:
    """The tuples of a frame as objects, in the form they have as JSON."""
    table = arrow().ipc.open_stream(payload).read_all()
    dataset = table.schema.metadata[b"dataset"].decode()
    tuples = []
    for row in table.to_pylist():
        head = {"dataset": dataset, "stream": row.pop("stream")}
        if "time" in row:
            head["time"] = row.pop("time")
        tuples.append({**head, "values": row})
    return tuples
