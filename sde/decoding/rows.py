"""Messages of text, cut into rows: whole, or one for each line that is not blank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.kernels import lines as kernel
from sde.kernels.elements import split_arrays

_BYTE_ORDER_MARK = np.array([0xEF, 0xBB, 0xBF], np.uint8)
_OPEN_BRACKET = ord("[")


@dataclass(frozen=True, slots=True)
class Rows:
    """Row i is buffer[starts[i]:ends[i]], line lines[i] of message messages[i].

    Where a line became several rows, lines are numbered by `Numbering`.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    messages: NDArray[np.int64]
    lines: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)


def cut_rows(
    buffer: NDArray[np.uint8], messages: Messages, which: NDArray[np.int64], limits: Limits
) -> Rows:
    """The rows of the messages `which`: one a line, but an object may be written over several.

    >>> text = b'{"a": 1}\\n \\n{"a": 2}\\n'
    >>> buffer, one = np.frombuffer(bytearray(text), np.uint8), np.zeros(1, np.int64)
    >>> messages = Messages("topic", 0, buffer, one, one + 19, one, one)
    >>> rows = cut_rows(buffer, messages, one, Limits())
    >>> [buffer[s:e].tobytes() for s, e in zip(rows.starts, rows.ends)], rows.lines.tolist()
    ([b'{"a": 1}', b'{"a": 2}'], [0, 2])
    """
    starts, ends = _text_spans(buffer, messages, which)
    newlines = kernel.count_newlines(buffer, starts[0], ends[-1])
    # Most often there are no newlines but those between messages.
    is_one = np.ones(len(starts), np.bool_)
    if newlines >= len(starts):
        is_one = _written_out(buffer, starts, ends, limits)
    return _split(buffer, starts, ends, which, is_one, newlines)


def cut_records(
    buffer: NDArray[np.uint8], messages: Messages, which: NDArray[np.int64], lines: bool
) -> Rows:
    """The messages `which`, whole or line by line; of an array every element is a row."""
    starts, ends = _text_spans(buffer, messages, which)
    newlines = kernel.count_newlines(buffer, starts[0], ends[-1]) if lines else 0
    is_one = np.full(len(starts), not lines)
    rows = _split(buffer, starts, ends, which, is_one, newlines)
    if not (buffer[rows.starts] == _OPEN_BRACKET).any():
        return rows
    nothing = np.empty(0, np.int64)
    count = split_arrays(buffer, rows.starts, rows.ends, nothing, nothing, nothing)
    starts, ends, row_of = np.empty((3, count), np.int64)
    split_arrays(buffer, rows.starts, rows.ends, starts, ends, row_of)
    numbered = Numbering().rows(
        rows.messages, rows.lines, np.bincount(row_of, minlength=len(rows)).astype(np.int64)
    )
    return Rows(starts, ends, rows.messages[row_of], numbered)


class Numbering:
    """Numbers rows within their messages, where a line may have become several.

    It counts on over calls: the first row of one may be of the message of the last one before.
    """

    def __init__(self) -> None:
        self._message, self._more = -1, 0

    def rows(
        self, messages: NDArray[np.int64], lines: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The number of each row, of which counts[i] were made of lines[i] of messages[i].

        A line that became one row or none counts one, so that numbers are those of lines where
        each became one.

        >>> messages, lines = np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0])
        >>> Numbering().rows(messages, lines, np.array([2, 0, 1, 1])).tolist()
        [0, 1, 3, 0]
        """
        more = np.maximum(counts, 1) - 1
        before = np.cumsum(more) - more
        before -= before[np.searchsorted(messages, messages)]
        before[messages == self._message] += self._more
        if len(messages):
            self._message, self._more = int(messages[-1]), int(before[-1] + more[-1])
        first = np.cumsum(counts) - counts
        numbers: NDArray[np.int64] = np.repeat(lines + before - first, counts)
        return numbers + np.arange(len(numbers))


def _text_spans(
    buffer: NDArray[np.uint8], messages: Messages, which: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and ends of the messages `which`, without byte order marks."""
    marked = np.empty(len(which), np.bool_)
    kernel.starting_with(buffer, messages.starts, messages.ends, which, _BYTE_ORDER_MARK, marked)
    return messages.starts[which] + len(_BYTE_ORDER_MARK) * marked, messages.ends[which]


def _split(
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    messages: NDArray[np.int64],
    is_one: NDArray[np.bool_],
    newlines: int,
) -> Rows:
    cut = np.empty((4, len(starts) + newlines), np.int64)
    rows = kernel.split_lines(buffer, starts, ends, is_one, cut[0], cut[1], cut[2], cut[3])
    return Rows(cut[0, :rows], cut[1, :rows], messages[cut[2, :rows]], cut[3, :rows])


def _written_out(
    buffer: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], limits: Limits
) -> NDArray[np.bool_]:
    """Which messages are one object, written over several lines.

    Only those whose first line is no whole object are parsed: few are.
    """
    is_open = np.empty(len(starts), np.bool_)
    kernel.open_first_lines(buffer, starts, ends, is_open)
    is_open &= ends - starts <= limits.max_tuple_bytes
    for i in np.flatnonzero(is_open).tolist():
        try:
            message = orjson.loads(buffer[starts[i] : ends[i]].tobytes())
        except orjson.JSONDecodeError:
            message = None
        is_open[i] = isinstance(message, dict)
    return is_open
