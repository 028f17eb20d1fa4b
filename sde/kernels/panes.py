"""Which pane a tuple belongs to, and whether it is still open. Self-contained for numba's cache."""

import numpy as np
from numba import njit

NO_TIME = np.iinfo(np.int64).min
LATE, LATE_DROPPED, FUTURE_DROPPED, UNTIMED = range(4)  # places of the counters


@njit(cache=True, nogil=True, inline="always")
def _mixed(stream, pane):
    x = stream ^ (np.uint64(pane) * np.uint64(0x9E3779B97F4A7C15))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def keys(stream, panes, out):
    """out[i]: the key of pane i of one stream in the table of slots."""
    for i in range(panes.size):
        out[i] = _mixed(stream, panes[i])


@njit(cache=True, nogil=True)
def place(
    times,
    arrivals,
    streams,
    stream_of,
    chosen,
    pane,
    lateness,
    skew,
    watermark,
    out_keys,
    out_panes,
    out_open,
    counters,
):
    """For each tuple: its pane and key, and whether it is to be added. Returns the latest time.

    A tuple is late when its pane ended before the watermark, and dropped when that was more than
    `lateness` ago. One that is ahead of its arrival by more than `skew` (if not negative) is
    dropped too, and moves no clock. Only tuples of `chosen` streams are counted.
    """
    latest = np.int64(NO_TIME)
    for i in range(times.size):
        time = times[i]
        stream = stream_of[i]
        out_open[i] = False
        out_keys[i] = 0
        out_panes[i] = 0
        if time == NO_TIME:
            counters[UNTIMED] += chosen[stream]
            continue
        if skew >= 0 and time > arrivals[i] + skew:
            counters[FUTURE_DROPPED] += chosen[stream]
            continue
        if time > latest:
            latest = time
        if not chosen[stream]:
            continue
        number = time // pane
        end = (number + 1) * pane
        if watermark != NO_TIME and end <= watermark:
            if end + lateness <= watermark:
                counters[LATE_DROPPED] += 1
                continue
            counters[LATE] += 1
        out_open[i] = True
        out_panes[i] = number
        out_keys[i] = _mixed(streams[stream], number)
    return latest


@njit(cache=True, nogil=True)
def place_by_count(
    counts, count_of, streams, stream_of, chosen, pane, out_keys, out_panes, out_open
):
    """As `place`, by the number of tuples a stream had before."""
    for i in range(stream_of.size):
        stream = stream_of[i]
        out_open[i] = chosen[stream]
        out_keys[i] = 0
        out_panes[i] = 0
        if chosen[stream]:
            number = counts[count_of[stream]] // pane
            counts[count_of[stream]] += 1
            out_panes[i] = number
            out_keys[i] = _mixed(streams[stream], number)


@njit(cache=True, nogil=True)
def ordinals(counts, count_of, stream_of, chosen, scale, out):
    """out[i]: how many tuples the stream had before, times `scale`."""
    for i in range(stream_of.size):
        stream = stream_of[i]
        out[i] = 0
        if chosen[stream]:
            out[i] = counts[count_of[stream]] * scale
            counts[count_of[stream]] += 1


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
