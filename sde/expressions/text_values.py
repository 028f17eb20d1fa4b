"""Texts of each row: their order, and the functions of them, by Arrow's kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sde.expressions.functions import Function
from sde.expressions.truth import Orders, Truth
from sde.kernels.numbers import NOT_COMPARABLE
from sde.kernels.text_order import compare_spans
from sde.tuples.column import Coded, Column
from synopses.texts import Texts

LONGEST_JOINED = 4_096  # bytes of a text that `concat` makes; a longer one is missing
_CASES = {Function.LOWER: pc.utf8_lower, Function.UPPER: pc.utf8_upper}


def constant(text: str, rows: int) -> Column:
    """One text for all rows, held once."""
    texts = Texts.of([text])
    writable = Texts(texts.buffer.copy(), texts.offsets)
    return Column(Coded(writable, np.zeros(rows, np.int32)))


def orders(a: Column, b: Column) -> Orders:
    """How the text forms compare, character by character."""
    out = np.empty(len(a), np.int8)
    compare_spans(*_spans(a), *_spans(b), out)
    for column in (a, b):
        if column.valid is not None:
            out[~column.valid] = NOT_COMPARABLE
    return out


def truth(column: Column) -> Truth:
    """The texts `true` and `false`; whatever else there is, is missing."""
    if isinstance(column.data, Texts | Coded):
        true = orders(column, constant("true", len(column))) == 0
        return Truth(true, orders(column, constant("false", len(column))) == 0)
    nowhere = np.zeros(len(column), np.bool_)
    return Truth(nowhere, nowhere)


def one_of(column: Column, texts: Sequence[str]) -> Truth:
    """Whether the text form is among the texts; of texts that repeat, looked up once."""
    wanted = pa.array(texts, pa.large_string())
    found: NDArray[np.bool_] = pc.is_in(_to_arrow(_texts_of(column)), value_set=wanted).to_numpy(
        zero_copy_only=False
    )
    if isinstance(column.data, Coded):
        found = found[column.data.codes]
    valid = np.True_ if column.valid is None else column.valid
    return Truth(found & valid, ~found & valid)


def cased(function: Function, column: Column) -> Column:
    """In lower or upper case: each character by itself, so `ß` stays one."""
    return _mapped(column, _CASES[function])


def substring(column: Column, start: int, length: int | None) -> Column:
    """Characters from `start` on, not bytes."""
    stop = None if length is None else start + length
    return _mapped(column, lambda texts: pc.utf8_slice_codeunits(texts, start, stop))


def length(column: Column) -> Column:
    """How many characters."""
    texts = _texts_of(column)
    counts: NDArray[np.int64] = pc.utf8_length(_to_arrow(texts)).to_numpy().astype(np.int64)
    codes = column.data.codes if isinstance(column.data, Coded) else slice(None)
    return Column(counts[codes], column.valid)


def joined(columns: Sequence[Column]) -> Column:
    """The text forms, one behind the other; missing if one is, or beyond LONGEST_JOINED."""
    texts = [column.texts() for column in columns]
    size = sum(np.diff(t.offsets) for t in texts)
    valid = np.asarray(size <= LONGEST_JOINED)
    for column in columns:
        valid = valid if column.valid is None else valid & column.valid
    arrays = [_to_arrow(t, None if valid.all() else valid) for t in texts]
    empty = pa.scalar("", pa.large_string())
    return Column(_from_arrow(pc.binary_join_element_wise(*arrays, empty)), _or_none(valid))


def _mapped(column: Column, function: Callable[[pa.Array], pa.Array]) -> Column:
    """A function of each text; of texts that repeat, once."""
    mapped = _from_arrow(function(_to_arrow(_texts_of(column))))
    if isinstance(column.data, Coded):
        return replace(column, data=Coded(mapped, column.data.codes))
    return Column(mapped, column.valid)


def _texts_of(column: Column) -> Texts:
    return column.data.texts if isinstance(column.data, Coded) else column.texts()


def _spans(column: Column) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """The buffer that the texts are in, and where each begins and ends."""
    texts = _texts_of(column)
    starts, ends = texts.offsets[:-1], texts.offsets[1:]
    if isinstance(column.data, Coded):
        return texts.buffer, starts[column.data.codes], ends[column.data.codes]
    return texts.buffer, starts, ends


def _to_arrow(texts: Texts, valid: NDArray[np.bool_] | None = None) -> pa.Array:
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = pa.py_buffer(np.ascontiguousarray(texts.offsets)), pa.py_buffer(texts.buffer)
    return pa.LargeStringArray.from_buffers(len(texts), *buffers, bits)


def _from_arrow(array: Any) -> Texts:
    """With arrays of its own: kernels want them writable."""
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    text = np.frombuffer(data or b"", np.uint8)[places[0] : places[-1]]
    return Texts(text.copy(), places - places[0])


def _or_none(valid: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    return None if valid.all() else valid
