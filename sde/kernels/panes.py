"""Which pane a tuple belongs to, and whether it is still open.

For the layers of `sde.banks`: panes, count windows and ordinals.
"""

import numpy as np
from numba import njit

NO_TIME = NO_PANE = np.iinfo(np.int64).min
LATE, LATE_DROPPED, FUTURE_DROPPED, UNTIMED = range(4)  # places of the counters


@njit(cache=True, nogil=True, inline="always")
def _mixed(stream, pane):
    """A hash of stream and pane, by the finaliser of splitmix64."""
    x = stream ^ (np.uint64(pane) * np.uint64(0x9E3779B97F4A7C15))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def keys(streams, panes, out):
    """out[i]: the key of pane panes[i] of stream streams[i] in the table of slots."""
    for i in range(panes.size):
        out[i] = _mixed(streams[i], panes[i])


@njit(cache=True, nogil=True)
def place(times, arrivals, stream_of, chosen, pane, lateness, skew, watermark, out, counters):
    """out[i]: the pane of each tuple, NO_PANE if it is not to be added. Returns the latest time.

    A tuple is late when its pane ended before the watermark, and dropped when that was more than
    `lateness` ago. One that is ahead of its arrival by more than `skew` (if not negative) is
    dropped too, and moves no clock. Only tuples of `chosen` streams are counted.
    """
    latest = np.int64(NO_TIME)
    number, start, end = np.int64(0), np.int64(0), np.int64(0)  # of the last tuple's pane
    for i in range(times.size):
        time = times[i]
        out[i] = NO_PANE
        if time == NO_TIME:
            counters[UNTIMED] += chosen[stream_of[i]]
            continue
        if skew >= 0 and time > arrivals[i] + skew:
            counters[FUTURE_DROPPED] += chosen[stream_of[i]]
            continue
        latest = max(latest, time)
        if not chosen[stream_of[i]]:
            continue
        if time < start or time >= end:  # a division costs more than the rest together
            number = time // pane
            start = number * pane
            end = start + pane
        if watermark != NO_TIME and end <= watermark:
            if end + lateness <= watermark:
                counters[LATE_DROPPED] += 1
                continue
            counters[LATE] += 1
        out[i] = number
    return latest


@njit(cache=True, nogil=True)
def place_by_count(counts, count_of, stream_of, chosen, pane, out):
    """As `place`, by the number of tuples a stream had before."""
    for i in range(stream_of.size):
        stream = stream_of[i]
        out[i] = NO_PANE
        if chosen[stream]:
            out[i] = counts[count_of[stream]] // pane
            counts[count_of[stream]] += 1


@njit(cache=True, nogil=True)
def bounds(panes):
    """The lowest and the highest pane; NO_PANE twice if there is none."""
    low, high = np.int64(NO_PANE), np.int64(NO_PANE)
    for i in range(panes.size):
        if panes[i] != NO_PANE:
            if low == NO_PANE:
                low = high = panes[i]
            low, high = min(low, panes[i]), max(high, panes[i])
    return low, high


@njit(cache=True, nogil=True)
def mark(panes, stream_of, low, width, used):
    """used[stream * width + pane - low]: whether a tuple belongs there."""
    for i in range(panes.size):
        if panes[i] != NO_PANE:
            used[stream_of[i] * width + panes[i] - low] = True


@njit(cache=True, nogil=True)
def fill(panes, stream_of, low, width, grid, out):
    """out[i]: what the grid says for the tuple, -1 if it is not to be added."""
    for i in range(panes.size):
        out[i] = -1
        if panes[i] != NO_PANE:
            out[i] = grid[stream_of[i] * width + panes[i] - low]


@njit(cache=True, nogil=True)
def ordinals(slots, counts, out):
    """out[i]: how many tuples a slot had before this one; `counts` goes on."""
    for i in range(slots.size):
        out[i] = 0
        if slots[i] >= 0:
            out[i] = counts[slots[i]]
            counts[slots[i]] += 1


@njit(cache=True, nogil=True)
def extremes(slots, times, first, last):
    """The earliest and the latest time in each slot."""
    for i in range(slots.size):
        slot = slots[i]
        if slot >= 0:
            if times[i] < first[slot]:
                first[slot] = times[i]
            if times[i] > last[slot]:
                last[slot] = times[i]
