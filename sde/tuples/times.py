"""Event times: what a field says about when a tuple happened, in milliseconds since the epoch.

Streams write times in several ways. A number is epoch seconds or milliseconds, also as a text
(INFORE sends its numbers so), rounded to the nearest millisecond: as binary fractions
1700000000.123 lies a little below what was written, and cutting would lose its last digit.
ISO 8601 is `2023-11-14T22:13:20`, with a blank for the T, a fraction (cut to milliseconds) and a
zone (`Z`, `+02:00`, `+0200`, `+02`) if wanted, or the date alone. INFORE's is
`MM/dd/yyyy HH:mm:ss`, its month, day and hour also with one digit. Without a zone it is UTC.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sde.kernels import times as kernel
from sde.tuples.column import Coded, Column
from sde.tuples.decimals import text_numbers
from synopses.errors import ParameterError
from synopses.texts import Texts

FORMATS = ("auto", "s", "ms", "iso", "infore")
NO_TIME = int(kernel.NO_TIME)
EARLIEST, LATEST = kernel.EARLIEST, kernel.LATEST

# Numbers of a smaller magnitude are seconds. For "auto" the limit is 1e11: as milliseconds that
# is March 1973, as seconds the year 5138, so that times of our days are told apart for certain.
_SECONDS_BELOW = {"auto": 1e11, "s": np.inf, "ms": 0.0}


def event_times(column: Column, format: str) -> NDArray[np.int64]:
    """The time of each row, NO_TIME where there is none: missing, not of the format, no day of
    the calendar, or not in the years 1 to 9999.

    "auto" tells each value apart by its shape: four digits and `-` begin ISO 8601, one or two and
    `/` INFORE's form, anything else is a number: seconds if its magnitude is below 1e11, else
    milliseconds. A value's time does not depend on the other rows of its block.

    >>> texts = Texts.of(["2023-11-14T22:13:20Z", "11/14/2023 22:13:20", "1700000000", "soon"])
    >>> event_times(Column(texts), "auto").tolist()
    [1700000000000, 1700000000000, 1700000000000, -9223372036854775808]
    """
    if format not in FORMATS:
        raise ParameterError("format", format, f"one of {', '.join(FORMATS)}")
    if isinstance(column.data, Coded):
        times = _text_times(column.data.texts, format)[column.data.codes]
    elif isinstance(column.data, Texts):
        times = _text_times(column.data, format)
    else:
        return _number_times(column.numbers(), format)
    if column.valid is not None:
        times[~column.valid] = NO_TIME
    return times


def _text_times(texts: Texts, format: str) -> NDArray[np.int64]:
    """Texts of a date's form by the kernel, the others as numbers."""
    times, others = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
    iso, infore = format in ("auto", "iso"), format in ("auto", "infore")
    count = kernel.text_times(texts.buffer, texts.offsets, iso, infore, times, others)
    if count == 0 or format not in _SECONDS_BELOW:
        return times
    if count == len(texts):
        return _number_times(text_numbers(texts), format)
    others = others[:count]
    times[others] = _number_times(text_numbers(texts.take(others)), format)
    return times


def _number_times(numbers: NDArray[np.float64], format: str) -> NDArray[np.int64]:
    times = np.full(len(numbers), NO_TIME, np.int64)
    if format in _SECONDS_BELOW:
        kernel.number_times(numbers, _SECONDS_BELOW[format], times)
    return times
