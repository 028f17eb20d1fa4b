"""Messages of text, cut into rows: one for each line that is not blank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from sde.decoding.limits import Limits
from sde.kernels import lines as kernel


@dataclass(frozen=True, slots=True)
class Rows:
    """Row i is buffer[starts[i]:ends[i]], line lines[i] of message messages[i]."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    messages: NDArray[np.int64]
    lines: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)


def cut_rows(
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    messages: NDArray[np.int64],
    limits: Limits,
) -> Rows:
    """The rows of buffer[starts[i]:ends[i]], which is message messages[i].

    >>> buffer = np.frombuffer(bytearray(b'{"a": 1}\\n \\n{"a": 2}\\n'), np.uint8)
    >>> rows = cut_rows(buffer, np.array([0]), np.array([19]), np.array([7]), Limits())
    >>> [buffer[s:e].tobytes() for s, e in zip(rows.starts, rows.ends)], rows.lines.tolist()
    ([b'{"a": 1}', b'{"a": 2}'], [0, 2])
    """
    newlines = kernel.count_newlines(buffer, starts[0], ends[-1])
    # Most often there are no newlines but those between messages.
    is_one = np.ones(len(starts), np.bool_)
    if newlines >= len(starts):
        is_one = _written_out(buffer, starts, ends, limits)
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
