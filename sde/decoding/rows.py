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

    Where a line became several rows, lines are numbered by `Numbering`. If is_unsure[i], the row
    is a whole message that may be one object, written over several lines, or else has a row on
    each of them.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    messages: NDArray[np.int64]
    lines: NDArray[np.int64]
    is_unsure: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts)


def cut_rows(
    buffer: NDArray[np.uint8], messages: Messages, which: NDArray[np.int64], limits: Limits
) -> Rows:
    """The rows of the messages `which`: one a line, but an object may be written over several.

    Whether a message is such an object is not looked at here, but when it is read (`cut_again`).

    >>> text = b'{"a": 1}\\n \\n{"a": 2}\\n'
    >>> buffer, one = np.frombuffer(bytearray(text), np.uint8), np.zeros(1, np.int64)
    >>> messages = Messages("topic", 0, buffer, one, one + 19, one, one)
    >>> rows = cut_rows(buffer, messages, one, Limits())
    >>> [buffer[s:e].tobytes() for s, e in zip(rows.starts, rows.ends)], rows.lines.tolist()
    ([b'{"a": 1}', b'{"a": 2}'], [0, 2])
    """
    starts, ends = messages.starts[which], messages.ends[which]
    newlines = kernel.count_newlines(buffer, starts[0], ends[-1])
    is_open = np.empty(len(starts), np.bool_)
    if newlines < len(starts):  # most often there are none but those between messages
        cut = _split(buffer, starts, ends, np.ones(len(starts), np.bool_), newlines)
        return Rows(cut[0], cut[1], which[cut[2]], cut[3], np.zeros(cut.shape[1], np.bool_))
    kernel.open_first_lines(buffer, starts, ends, is_open)
    is_open &= ends - starts <= limits.max_tuple_bytes
    cut = _split(buffer, starts, ends, is_open, newlines)
    return Rows(cut[0], cut[1], which[cut[2]], cut[3], is_open[cut[2]])


def cut_again(
    buffer: NDArray[np.uint8], messages: Messages, rows: Rows, unsure: NDArray[np.int64]
) -> Rows:
    """The same rows, but those `unsure` that are no object become one for each of their lines.

    No row is unsure any more; those that were and are not named here must be objects.
    """
    in_lines = np.zeros(len(rows), np.bool_)
    for row in unsure.tolist():
        try:
            message = orjson.loads(buffer[rows.starts[row] : rows.ends[row]].tobytes())
        except orjson.JSONDecodeError:
            message = None
        in_lines[row] = not isinstance(message, dict)
    starts, ends = rows.starts.copy(), rows.ends.copy()
    which = rows.messages[in_lines]
    marked = np.empty(len(which), np.bool_)
    kernel.starting_with(buffer, messages.starts, messages.ends, which, _BYTE_ORDER_MARK, marked)
    starts[in_lines] = messages.starts[which] + len(_BYTE_ORDER_MARK) * marked
    ends[in_lines] = messages.ends[which]
    newlines = kernel.count_newlines(buffer, starts[0], ends[-1])
    cut = _split(buffer, starts, ends, ~in_lines, newlines, has_marks=False)
    is_unsure = np.zeros(cut.shape[1], np.bool_)
    return Rows(cut[0], cut[1], rows.messages[cut[2]], rows.lines[cut[2]] + cut[3], is_unsure)


def cut_records(
    buffer: NDArray[np.uint8], messages: Messages, which: NDArray[np.int64], lines: bool
) -> Rows:
    """The messages `which`, whole or line by line; of an array every element is a row."""
    starts, ends = messages.starts[which], messages.ends[which]
    newlines = kernel.count_newlines(buffer, starts[0], ends[-1]) if lines else 0
    starts, ends, row_of, line = _split(
        buffer, starts, ends, np.full(len(starts), not lines), newlines
    )
    messages_of = which[row_of]
    if (buffer[starts] == _OPEN_BRACKET).any():
        nothing = np.empty(0, np.int64)
        count = split_arrays(buffer, starts, ends, nothing, nothing, nothing)
        elements = np.empty((3, count), np.int64)
        split_arrays(buffer, starts, ends, *elements)
        counts = np.bincount(elements[2], minlength=len(starts)).astype(np.int64)
        line = Numbering().rows(messages_of, line, counts)
        starts, ends, messages_of = elements[0], elements[1], messages_of[elements[2]]
    return Rows(starts, ends, messages_of, line, np.zeros(len(starts), np.bool_))


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


def _split(
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    is_one: NDArray[np.bool_],
    newlines: int,
    has_marks: bool = True,
) -> NDArray[np.int64]:
    """Starts, ends, which of the given pieces they are from, and lines there, of all rows."""
    cut = np.empty((4, len(starts) + newlines), np.int64)
    rows = kernel.split_lines(buffer, starts, ends, is_one, has_marks, *cut)
    return cut[:, :rows]
