"""Positions worth keeping, over a bank of rings."""

import math

from numba import njit

_EARTH = 6371008.8  # mean radius in metres


@njit(cache=True, nogil=True)
def distance(latitude, longitude, other_latitude, other_longitude):
    """Metres along the great circle (haversine)."""
    phi, other_phi = math.radians(latitude), math.radians(other_latitude)
    north = math.sin((other_phi - phi) / 2)
    east = math.sin(math.radians(other_longitude - longitude) / 2)
    haversine = north * north + math.cos(phi) * math.cos(other_phi) * east * east
    return 2 * _EARTH * math.asin(min(1.0, math.sqrt(haversine)))


@njit(cache=True, nogil=True)
def turn(course, other_course):
    """Degrees between two courses, 0 to 180."""
    apart = abs(course - other_course) % 360.0
    return min(apart, 360.0 - apart)


@njit(cache=True, nogil=True)
def add(times, positions, kept, seen, slots, new_times, values, period, metres, knots, degrees):
    """Keep a position if time, distance, speed or course moved enough since the last kept."""
    capacity = times.shape[1]
    for i in range(slots.size):
        slot = slots[i]
        latitude, longitude, course, speed = values[i]
        if abs(latitude) > 90.0 or abs(longitude) > 180.0:
            continue
        seen[slot] += 1
        if kept[slot] > 0:
            last = (kept[slot] - 1) % capacity
            waited = new_times[i] - times[slot, last]
            if waited < 0:
                continue
            before = positions[slot, last]
            if (
                waited < period
                and abs(speed - before[3]) < knots
                and turn(course, before[2]) < degrees
                and distance(latitude, longitude, before[0], before[1]) < metres
            ):
                continue
        at = kept[slot] % capacity
        times[slot, at] = new_times[i]
        positions[slot, at] = values[i]
        kept[slot] += 1
