"""Files of tuples, read piece by piece: CSV, TSV, lines of JSON (perhaps compressed), Parquet."""

from __future__ import annotations

import csv as csv_lines
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal

from clients.arrow import arrow, arrow_trouble_with
from clients.arrow_stream import CheckedStream, check_batch, refusing_damage
from clients.errors import BadInput
from clients.lanes import Parcel
from clients.lines import Numbered, read_lines, row_of_line
from clients.tables import ROWS_A_FRAME, encode_frames
from clients.tuples import Row, encode_lines

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_LINES = (".ndjson", ".jsonl")
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_BLOCK = 4 << 20  # bytes of a CSV file read at once

Form = Literal["lines", "csv", "arrow"]
Piece = tuple[Iterable[Parcel], float]  # messages, and the share of the file read so far


def read_pieces(
    source: str | Path | BinaryIO,
    *,
    dataset: str,
    stream: str,
    time: str | None,
    lanes: int,
    form: Form | None = None,
    name: str = "standard input",
) -> Iterator[Piece]:
    """The messages for a file's tuples. BadInput names the line that is none.

    `form` and `name` are those of an open file; without `form` its first line tells.
    """
    what = str(source) if isinstance(source, str | Path) else name
    reader = _FileReader(what, dataset, stream, time, lanes)
    try:
        if isinstance(source, str | Path):
            yield from reader.of_path(Path(source))
        else:
            yield from reader.of_stream(source, form)
    except OSError as error:
        raise BadInput(f"{what}: {error}") from error


class _FileReader:
    """Reads one file; `what` is its name in messages."""

    def __init__(self, what: str, dataset: str, stream: str, time: str | None, lanes: int) -> None:
        self._what, self._lanes = what, lanes
        self._dataset, self._stream, self._time = dataset, stream, time

    def of_path(self, path: Path) -> Iterator[Piece]:
        if not path.is_file():
            raise BadInput(f"{path}: expected a file")
        suffixes = [suffix.lower() for suffix in path.suffixes]
        compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
        form = (suffixes[-2:-1] if compression else suffixes[-1:]) or [""]
        size = max(1, path.stat().st_size)
        with path.open("rb") as file:
            opened = arrow().CompressedInputStream(file, compression) if compression else file
            if form == [".parquet"] and not compression:
                yield from self._parquet(path)
            elif form[0] in _LINES:
                for parcels in self._lines(read_lines(opened.read)):
                    yield parcels, min(1.0, file.tell() / size)
            elif form[0] in _DELIMITERS:
                for parcels in self._csv(_first_line(opened), opened, _DELIMITERS[form[0]]):
                    yield parcels, min(1.0, file.tell() / size)
            else:
                raise BadInput(
                    f"{path}: expected a name ending in .csv, .tsv, .ndjson, .jsonl or .parquet"
                )

    def of_stream(self, file: BinaryIO, form: Form | None) -> Iterator[Piece]:
        """Lines of JSON, sent as they come, CSV, or an Arrow stream."""
        first = b"" if form in ("arrow", "lines") else file.readline()
        read = getattr(file, "read1", file.read)  # what there is, without waiting for more
        if form is None:
            form = "lines" if not first or first.lstrip().startswith(b"{") else "csv"
        pieces: Iterator[Iterable[Parcel]]
        match form:
            case "lines":
                pieces = self._lines(read_lines(read, first))
            case "csv":
                pieces = self._csv(first, file, ",")
            case "arrow":
                pieces = self._arrow(file)
        for parcels in pieces:
            yield parcels, 0.0  # nobody knows how much is still to come
        yield (), 1.0

    def _lines(self, blocks: Iterator[Numbered]) -> Iterator[Iterable[Parcel]]:
        place = f"{self._what}, line"
        for block in blocks:
            rows = self._rows(block, place)
            yield encode_lines(self._dataset, rows, self._lanes, place, finish=True)

    def _rows(self, block: Numbered, place: str) -> Iterator[tuple[int, Row]]:
        for number, line in block:
            try:
                row = row_of_line(line, dataset=self._dataset, stream=self._stream, time=self._time)
            except BadInput as error:
                raise BadInput(f"{place} {number}: {error}") from error
            yield number, row

    def _frames(self, table: Any, place: str, first: int) -> Iterator[Parcel]:
        with arrow_trouble_with(self._what):
            yield from encode_frames(
                table,
                dataset=self._dataset,
                stream=self._stream,
                time=self._time,
                lanes=self._lanes,
                place=f"{self._what}, {place}",
                first=first,
            )

    def _parquet(self, path: Path) -> Iterator[Piece]:
        pa = arrow()
        from pyarrow import parquet

        done = 0
        with arrow_trouble_with(self._what), parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS_A_FRAME):
                frames = self._frames(pa.Table.from_batches([batch]), "row", done + 1)
                done += batch.num_rows
                yield frames, done / file.metadata.num_rows

    def _arrow(self, file: BinaryIO) -> Iterator[Iterable[Parcel]]:
        pa = arrow()
        done = 0
        checked = CheckedStream(file, self._what)
        with refusing_damage(self._what), pa.ipc.open_stream(checked) as batches:
            for batch in batches:
                check_batch(batch, self._what)
                yield self._frames(pa.Table.from_batches([batch]), "row", done + 1)
                done += batch.num_rows

    def _csv(self, first: bytes, file: Any, delimiter: str) -> Iterator[Iterable[Parcel]]:
        """`first` was read of the file already, and has its first line."""
        pa = arrow()
        from pyarrow import csv

        names = self._column_names(first.partition(b"\n")[0], delimiter)
        # Arrow would fix the types by the first block and fail on a later one that does not fit.
        convert = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            null_values=[""],
        )
        parse = csv.ParseOptions(delimiter=delimiter)
        read = csv.ReadOptions(block_size=_BLOCK, use_threads=False)  # threads count no rows
        line = 2  # the first one after the names
        with arrow_trouble_with(self._what):
            whole = io.BufferedReader(_PutBack(first, file))
            for batch in csv.open_csv(whole, read, parse, convert):
                columns = {n: batch[n] if n == self._stream else _typed(batch[n]) for n in names}
                yield self._frames(pa.table(columns), "line", line)
                line += batch.num_rows

    def _column_names(self, line: bytes, delimiter: str) -> list[str]:
        try:
            text = line.decode("utf-8-sig").strip("\r")
        except UnicodeDecodeError as error:
            raise BadInput(f"{self._what}, line 1: expected text in UTF-8: {error}") from None
        if not text:
            raise BadInput(f"{self._what}: empty, expected a first line with names of columns")
        names = next(csv_lines.reader([text], delimiter=delimiter))
        for name in names:
            if names.count(name) > 1:
                raise BadInput(f"{self._what}, line 1: expected one column {name!r}, not several")
        return names


def _first_line(file: Any) -> bytes:
    """The first line of a file that cannot tell lines, and some of what follows."""
    first = b""
    while b"\n" not in first and (block := file.read(1 << 16)):
        first += block
    return first


class _PutBack(io.RawIOBase):
    """A file whose first line was read already."""

    def __init__(self, first: bytes, file: BinaryIO) -> None:
        self._first, self._file = first, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._first:
            self._first = self._file.read(len(buffer))
        part, self._first = self._first[: len(buffer)], self._first[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _typed(column: Any) -> Any:
    """Numbers if all of the column are numbers; `007` is a name, not the number 7."""
    pa = arrow()
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowInvalid:
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            return column
    return whole if whole.cast(pa.string()).equals(column) else column
