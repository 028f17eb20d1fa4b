"""The window in which streams are compared: which one it is, who has it, and what of it travels.

Streams of one data set lie in several shards. Which window they have in common is known only
when all are together, but a shard can guess: where most of its streams are in the same pane, so
are those of the others. It then cuts their states to that window, and much less has to travel.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synopses.base import Arrays
from synopses.streams import Streams
from synopses.window_transform import WindowTransform

Panes = NDArray[np.int64]
States = NDArray[np.int8]

# A stream in a window: no item came, it is younger than the window, its own clock has gone past
# it, it has one and the same value all along, or it moves. Only the last can be compared.
EMPTY, YOUNG, AHEAD, CONSTANT, MOVING = range(5)

FEW_STREAMS = 200  # of a shard: too few to guess where the others are, and they cost little


@dataclass(frozen=True, slots=True)
class OtherWindow(Exception):
    """Streams were cut to a window that is not the one all have in common; when that one ends."""

    moment: int  # ms


class CommonWindow(WindowTransform):
    """Base of kinds that compare the windows of streams."""

    lag_panes = 0  # how much earlier than a stream's window that of another may be

    @abc.abstractmethod
    def cut(self, arrays: Arrays, end: int) -> Arrays:
        """What is compared of each stream in the window that ends with pane `end`.

        With its newest pane (`pane`), that end (`end`) and what it is in that window (`state`).
        """

    def cut_here(self, arrays: Arrays) -> Arrays:
        """Cut the streams of a shard to the window that all have in common if all are as these.

        They stay whole where that is a bad guess, or windows of different times are compared.
        """
        reached = _reached(arrays)
        end = _common_end(reached)
        if self.lag_panes or len(reached) < FEW_STREAMS:
            return arrays
        if 2 * np.count_nonzero(reached == end + 1) < len(reached):
            return arrays
        return self.cut(arrays, end)

    def join(self, parts: Sequence[Streams]) -> Streams:
        """The streams of several shards: all whole, or all cut to the window they have in common.

        OtherWindow if some are cut to another.
        """
        states = [part.arrays for part in parts]
        if any(map(is_cut, states)):
            end = _common_end(np.concatenate([_reached(arrays) for arrays in states]))
            if any(is_cut(arrays) and (arrays["end"] != end).any() for arrays in states):
                raise OtherWindow(self._span(end)["end"])
            states = [arrays if is_cut(arrays) else self.cut(arrays, end) for arrays in states]
        names = [name for part in parts for name in part.names]
        joined = {n: np.concatenate([arrays[n] for arrays in states]) for n in states[0]}
        return Streams(names, joined)

    def common_end(self, arrays: Arrays) -> int:
        """The pane that ends the window in which streams are compared.

        It is the pane before the newest one that one stream in a hundred (and two, if there are)
        have reached: a few clocks that run ahead do not move everybody's window.
        """
        return _common_end(_reached(arrays))

    def states_at(self, arrays: Arrays, end: int) -> States:
        """What streams are in the window that ends with pane `end`, before it is known who moves.

        Those that have it are CONSTANT until then.
        """
        first = end - self.panes + 1
        state = np.full(len(arrays["pane"]), CONSTANT, np.int8)
        state[arrays["pane"] - self.ring >= first] = AHEAD
        state[arrays["start"] > first] = YOUNG
        state[arrays["counts"][:, 0] == 0] = EMPTY
        return state

    def details(self, state: States, end: int) -> dict[str, Any]:
        """What an answer tells of the streams, and the window it is about."""
        return {
            "streams": int(np.count_nonzero(state >= CONSTANT)),
            "without_full_window": int(np.count_nonzero(state <= YOUNG)),
            "ahead": int(np.count_nonzero(state == AHEAD)),
            "constant": int(np.count_nonzero(state == CONSTANT)),
            "window": self._span(end),
        }

    def _span(self, end: int) -> dict[str, int]:
        """First millisecond of a window and the first after it."""
        pane_ms = self.pane_ticks * self.interval_ms
        return {"start": (end - self.panes + 1) * pane_ms, "end": (end + 1) * pane_ms}


def is_cut(arrays: Arrays) -> bool:
    """Whether streams are cut to a window; else these are their whole states."""
    return "state" in arrays


def _reached(arrays: Arrays) -> Panes:
    """The newest panes of the streams that have items."""
    known = arrays["state"] != EMPTY if is_cut(arrays) else arrays["counts"][:, 0] > 0
    return arrays["pane"][known]


def _common_end(reached: Panes) -> int:
    if reached.size == 0:
        return 0
    newest = np.sort(reached)[::-1]
    return int(newest[min(max(1, newest.size // 100), newest.size - 1)]) - 1
