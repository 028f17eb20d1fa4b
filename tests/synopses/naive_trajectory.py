"""The maritime rule the obvious way: one position at a time, distance by vectors."""

import math


def distance(a, b):
    """Metres between two (latitude, longitude): the angle between two unit vectors."""

    def unit(latitude, longitude):
        phi, lam = math.radians(latitude), math.radians(longitude)
        return math.cos(phi) * math.cos(lam), math.cos(phi) * math.sin(lam), math.sin(phi)

    u, v = unit(*a), unit(*b)
    cross = math.hypot(
        u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]
    )
    return 6371008.8 * math.atan2(cross, sum(x * y for x, y in zip(u, v, strict=True)))


def track(times, values, period, metres, knots, degrees):
    """(time, latitude, longitude, course, speed) of the positions kept."""
    kept = []
    for time, (latitude, longitude, course, speed) in zip(times, values, strict=True):
        if abs(latitude) > 90 or abs(longitude) > 180:
            continue
        if kept:
            last_time, last_latitude, last_longitude, last_course, last_speed = kept[-1]
            if time < last_time:
                continue
            turn = min((course - last_course) % 360, (last_course - course) % 360)
            moved = distance((latitude, longitude), (last_latitude, last_longitude))
            if (
                time - last_time < 1000 * period
                and moved < metres
                and abs(speed - last_speed) < knots
                and turn < degrees
            ):
                continue
        kept.append((time, latitude, longitude, course, speed))
    return kept
