"""Files of tuples, read piece by piece: CSV, TSV (perhaps compressed) and Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clients.errors import BadInput
from clients.tables import ROWS_A_FRAME, arrow, arrow_trouble_with

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_BLOCK = 4 << 20  # bytes of a CSV file read at once


def read_tables(path: str | Path) -> Iterator[tuple[Any, float]]:
    """Arrow tables of the file's rows, each with the share of the file read so far."""
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"{path}: expected a file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    form = suffixes[-2:-1] if compression else suffixes[-1:]
    with arrow_trouble_with(str(path)):
        if form == [".parquet"] and not compression:
            yield from _parquet(path)
        elif form and form[0] in _DELIMITERS:
            yield from _csv(path, _DELIMITERS[form[0]], compression)
        else:
            raise BadInput(f"{path}: expected a name ending in .csv, .tsv or .parquet")


def _parquet(path: Path) -> Iterator[tuple[Any, float]]:
    arrow()
    from pyarrow import Table, parquet

    done = 0
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(ROWS_A_FRAME):
            done += batch.num_rows
            yield Table.from_batches([batch]), done / file.metadata.num_rows


def _csv(path: Path, delimiter: str, compression: str | None) -> Iterator[tuple[Any, float]]:
    pa = arrow()
    from pyarrow import csv

    size = max(1, path.stat().st_size)
    parse = csv.ParseOptions(delimiter=delimiter)
    read = csv.ReadOptions(block_size=_BLOCK)

    def opened(file: Any, convert: Any = None) -> Any:
        source = pa.CompressedInputStream(file, compression) if compression else file
        return csv.open_csv(source, read, parse, convert)

    with path.open("rb") as file:
        names = opened(file).schema.names
    # Arrow would fix the types by the first block and fail on a later one that does not fit.
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
    )
    with path.open("rb") as file:
        for batch in opened(file, convert):
            columns = {name: _typed(batch[name]) for name in names}
            yield pa.table(columns), min(1.0, file.tell() / size)


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
