"""Columns of an Arrow frame, brought to the three types a block has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from sde.tuples.column import Coded, Column
from sde.wire.faults import Code, Refusal
from synopses.texts import Texts

_CODED = pa.dictionary(pa.int32(), pa.large_string())
_WORD = 8  # bytes a value takes in a column, at least
_MOST_SECONDS = (2**63 - 1) // 1000  # that are milliseconds within int64


def decoded_bytes(array: pa.Array) -> int:
    """About how much memory the column will take; a dictionary's texts are written out."""
    if not types.is_dictionary(array.type) or not _is_text(array.type.value_type):
        return int(array.nbytes) + _WORD * len(array)
    lengths = pc.binary_length(array.dictionary).cast(pa.int64())
    longest = pc.max(lengths).as_py() or 0
    if longest <= _WORD:  # short ones need not be added up
        return (longest + _WORD) * len(array)
    return (pc.sum(lengths.take(array.indices)).as_py() or 0) + _WORD * len(array)


def check_type(name: str, kind: pa.DataType) -> None:
    """Refusal if a column of this type cannot be a field."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    known = (
        _is_text,
        types.is_boolean,
        types.is_integer,
        types.is_floating,
        types.is_decimal,
        types.is_date,
        types.is_timestamp,
        types.is_null,
    )
    if not any(fits(kind) for fits in known):
        text = f"column {name!r} has type {kind}: expected numbers, texts, truth values or times"
        raise Refusal(Code.BAD_FRAME, text, name)


def normal_form(array: pa.Array) -> pa.Array:
    """The column, whose type was checked, as int64, float64, large_string or a dictionary of
    large_strings.

    Truth values are texts; dates and timestamps are milliseconds since the epoch, null where those
    are beyond int64; integers beyond int64 are texts, as they are in JSON; NaN and infinities,
    which JSON has not, are null. Never fails because of a value: a frame must not be refused for a
    column that only some readers look at.

    >>> normal_form(pa.array([1.5, float("nan")])).to_pylist()
    [1.5, None]
    >>> normal_form(pa.array([True])).to_pylist()
    ['true']
    """
    if types.is_dictionary(array.type):
        texts = array.dictionary
        if _is_text(texts.type) and len(texts) and not texts.null_count:
            return array.cast(_CODED)
        array = array.dictionary_decode()
    kind = array.type
    if _is_text(kind) or types.is_boolean(kind) or _is_beyond_int64(array):
        return array.cast(pa.large_string())
    if types.is_integer(kind):
        return array.cast(pa.int64())
    if types.is_floating(kind) or types.is_decimal(kind):
        array = array.cast(pa.float64())
        finite = pc.is_finite(array)
        return array if pc.all(finite).as_py() else pc.if_else(finite, array, None)
    if types.is_timestamp(kind) and kind.unit == "s":
        seconds = array.view(pa.int64())
        most = pc.less_equal(seconds, _MOST_SECONDS)
        fits = pc.and_(most, pc.greater_equal(seconds, -_MOST_SECONDS))
        return pc.multiply(pc.if_else(fits, seconds, None), 1000)
    target = pa.timestamp("ms", getattr(kind, "tz", None))
    options = pc.CastOptions(target, allow_time_truncate=True)
    return pc.cast(array, options=options).cast(pa.int64())


def as_sent(table: pa.Table, row: int) -> dict[str, Any]:
    """A row of a table whose types were checked, for a dead letter.

    Dates and timestamps are shown as the numbers they are: they may lie beyond Python's years.

    >>> as_sent(pa.table({"stream": ["s"], "time": pa.array([1 << 60], pa.timestamp("ms"))}), 0)
    {'stream': 's', 'time': 1152921504606846976}
    """
    shown = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        array = column.slice(row, 1).combine_chunks()
        if types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if types.is_temporal(array.type):
            array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
        shown[name] = array[0].as_py()
    return shown


def to_column(array: pa.Array) -> Column:
    """A column in its normal form, as numpy arrays of its own: kernels want them writable."""
    if types.is_dictionary(array.type):
        codes = array.indices.fill_null(0) if array.null_count else array.indices
        data = Coded(_texts(array.dictionary), np.array(codes.to_numpy(), copy=True))
        return Column(data, _valid(array))
    if not types.is_large_string(array.type):
        filled = array.fill_null(0) if array.null_count else array
        return Column(np.array(filled.to_numpy(), copy=True), _valid(array))
    filled = array.fill_null("") if array.null_count else array
    return Column(_texts(filled), _valid(array))


def _texts(array: pa.Array) -> Texts:
    """Of a column of large_strings without nulls."""
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    text = np.frombuffer(data or b"", np.uint8)[places[0] : places[-1]]
    return Texts(text.copy(), places - places[0])


def _valid(array: pa.Array) -> NDArray[np.bool_] | None:
    if not array.null_count:
        return None
    valid: NDArray[Any] = array.is_valid().to_numpy(zero_copy_only=False)
    return valid.copy()


def _is_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_beyond_int64(array: pa.Array) -> bool:
    """Whether a column of unsigned integers has one that int64 cannot hold."""
    if not types.is_uint64(array.type):
        return False
    largest = pc.max(array).as_py()
    return largest is not None and largest >= 2**63
