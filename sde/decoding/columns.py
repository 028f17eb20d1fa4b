"""The values of rows become the columns of the groups that the rows are in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.decoding.entries import RowValues
from sde.decoding.pool import TextPool
from sde.kernels import columns as kernel
from sde.kernels.json_numbers import DECIMAL, INTEGER, TEXT
from sde.tuples.column import Column
from synopses.hashing import number_texts
from synopses.texts import Texts


@dataclass(frozen=True, slots=True)
class Groups:
    """Row i has place place_of[i] in group group_of[i]; group g has sizes[g] rows."""

    group_of: NDArray[np.int32]
    place_of: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of_all(cls, rows: int) -> Groups:
        """All rows in one group, in their order."""
        return cls(np.zeros(rows, np.int32), np.arange(rows), np.array([rows]))


@dataclass(frozen=True, slots=True)
class _Survey:
    """Which columns the groups have and how large they are."""

    column_of: NDArray[np.int32]  # [group, field]: the column's number, -1 for none
    counts: NDArray[np.int64]  # values in each column
    contents: NDArray[np.uint8]  # and of what kinds
    sizes: NDArray[np.int64]  # bytes of texts in each column


def build_columns(values: RowValues, groups: Groups, pool: TextPool) -> list[dict[str, Column]]:
    """The columns of each group, by field name.

    Sizes are counted first, then all values are put into a few large arrays; columns are pieces of
    those. A column that mixes numbers and texts becomes one of texts before.
    """
    survey = _survey(values, groups)
    mixed = _mixed(survey.contents)
    if mixed.any():
        _write_out(values, groups, survey, mixed, pool)
        survey = _survey(values, groups)
    rows = groups.sizes
    own_group, fields = np.nonzero(survey.column_of >= 0)
    numbers = survey.column_of[own_group, fields]
    bases, text_bases = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
    # Columns stand in the order of groups and fields; between texts there is room for the
    # words that copying writes at a time.
    bases[numbers] = np.cumsum(rows[own_group]) - rows[own_group]
    text_sizes = survey.sizes[numbers] + kernel.TAIL
    text_bases[numbers] = np.cumsum(text_sizes) - text_sizes

    cells = int(rows[own_group].sum())
    words, present = np.zeros(cells, np.int64), np.zeros(cells, np.bool_)
    floats, text = words.view(np.float64), np.empty(text_sizes.sum(), np.uint8)
    e = values.entries
    kernel.scatter(
        pool.array, groups.group_of, groups.place_of, values.row_entries,
        e.fields, e.types, e.words, survey.column_of, survey.contents,
        bases, text_bases.copy(), words, floats, present, text,
    )  # fmt: skip

    columns: list[dict[str, Column]] = [{} for _ in rows]
    found = zip(own_group.tolist(), fields.tolist(), numbers.tolist(), strict=True)
    for group, name, number in found:
        size, base = int(rows[group]), int(bases[number])
        data: Any = words[base : base + size]
        if survey.contents[number] & kernel.TEXTS:
            offsets = np.zeros(size + 1, np.int64)
            np.cumsum(data, out=offsets[1:])
            start = int(text_bases[number])
            data = Texts(text[start : start + int(offsets[-1])], offsets)
        elif survey.contents[number] & kernel.DECIMALS:
            data = floats[base : base + size]
        valid = None if survey.counts[number] == size else present[base : base + size]
        columns[group][values.names[name]] = Column(data, valid)
    return columns


def _survey(values: RowValues, groups: Groups) -> _Survey:
    """Count before filling, so that all columns fit into a few large arrays."""
    column_of = np.full((len(groups.sizes), len(values.names)), -1, np.int32)
    most = min(column_of.size, values.used)
    counts, sizes = np.empty(most, np.int64), np.empty(most, np.int64)
    contents = np.empty(most, np.uint8)
    e = values.entries
    found = kernel.survey(
        groups.group_of, values.row_entries, e.fields, e.types, e.words,
        column_of, counts, contents, sizes,
    )  # fmt: skip
    return _Survey(column_of, counts[:found], contents[:found], sizes[:found])


def _mixed(contents: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Columns whose numbers have to be written as text: among texts, or as decimals inexact."""
    numbers = kernel.INTEGERS | kernel.DECIMALS
    among_texts = ((contents & kernel.TEXTS) > 0) & ((contents & numbers) > 0)
    inexact = ((contents & kernel.DECIMALS) > 0) & ((contents & kernel.LARGE) > 0)
    return np.asarray(among_texts | inexact)


def _write_out(
    values: RowValues,
    groups: Groups,
    survey: _Survey,
    mixed: NDArray[np.bool_],
    pool: TextPool,
) -> None:
    """The numbers in the mixed columns become texts."""
    e = values.entries
    for kind, numbers in ((INTEGER, e.words), (DECIMAL, e.floats)):
        found = np.empty(values.used, np.int64)
        count = kernel.entries_of_type(
            groups.group_of, values.row_entries, e.fields, e.types, survey.column_of, mixed,
            kind, found,
        )  # fmt: skip
        found = found[:count]
        texts = number_texts(numbers[found, 0])
        e.words[found, 0] = texts.offsets[:-1] + pool.end
        e.words[found, 1] = texts.offsets[1:] + pool.end
        e.types[found] = TEXT
        pool.append(texts.buffer)
