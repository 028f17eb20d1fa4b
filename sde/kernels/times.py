"""Texts and numbers that are times, as milliseconds since the epoch, many at once.

`sde.tuples.times` says which forms there are.
"""

import numpy as np
from numba import njit

from sde.kernels.compiling import kernel

NO_TIME = np.int64(np.iinfo(np.int64).min)
# Years 1 to 9999: what lies beyond is a time in other units, or would overflow sums.
EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_999
_DAY = 86_400_000
_HOUR = 3_600_000
_MINUTE = 60_000
_SECOND = 1000
_ZERO, _POINT, _COLON, _SLASH, _PLUS, _MINUS = (ord(c) for c in "0.:/+-")
_BLANK, _T, _Z = (ord(c) for c in " TZ")


@njit(inline="always")
def _is_blank(byte):
    return byte == _BLANK or 9 <= byte <= 13


@njit(inline="always")
def _is_digit(buffer, p, end):
    return p < end and 48 <= buffer[p] <= 57


@njit(inline="always")
def _is(buffer, p, end, byte):
    return p < end and buffer[p] == byte


@njit(inline="always")
def _digits(buffer, p, end, width):
    """The number that `width` digits at p make; -1 if they are not all digits."""
    if p + width > end:
        return -1
    number = 0
    is_number = True
    for i in range(width):
        digit = np.int64(buffer[p + i]) - _ZERO
        is_number &= 0 <= digit <= 9
        number = number * 10 + digit
    return number if is_number else -1


@njit(inline="always")
def _date(year, month, day):
    """The first millisecond of a day; NO_TIME if the calendar has no such day."""
    if year < 1 or month < 1 or month > 12 or day < 1:
        return NO_TIME
    if month == 2:
        is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        last = 29 if is_leap else 28
    else:
        last = 30 + ((month + (month >> 3)) & 1)
    if day > last:
        return NO_TIME
    # Years are counted from March, so that the leap day is the last day of one: the months
    # from March on have lengths that (153 m + 2) // 5 sums up, and the rest is whole years.
    # 719468 days lie between 1 March of year 0 and the epoch.
    y = year - 1 if month <= 2 else year
    m = month + 9 if month <= 2 else month - 3
    days = 365 * y + y // 4 - y // 100 + y // 400 + (153 * m + 2) // 5 + day - 1
    return (days - 719_468) * _DAY


@njit(inline="always")
def _clock(buffer, p, end, hour):
    """Milliseconds since midnight for an hour and the `:mm:ss` at p; -1 if there is no such."""
    minute = _digits(buffer, p + 1, end, 2)
    second = _digits(buffer, p + 4, end, 2)
    if not (_is(buffer, p, end, _COLON) and _is(buffer, p + 3, end, _COLON)):
        return -1
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        return -1
    return hour * _HOUR + minute * _MINUTE + second * _SECOND


@kernel
def _zone(buffer, p, end):
    """How far a zone (nothing, Z, +hh, +hhmm, +hh:mm) is ahead of UTC; NO_TIME if it is none."""
    if p == end or (buffer[p] == _Z and p + 1 == end):
        return 0
    if buffer[p] != _PLUS and buffer[p] != _MINUS:
        return NO_TIME
    hour = _digits(buffer, p + 1, end, 2)
    minute = 0
    at = p + 3
    if at < end:
        if buffer[at] == _COLON:
            at += 1
        minute = _digits(buffer, at, end, 2)
        at += 2
    if at != end or not (0 <= hour < 24 and 0 <= minute < 60):
        return NO_TIME
    ahead = hour * _HOUR + minute * _MINUTE
    return ahead if buffer[p] == _PLUS else -ahead


@kernel
def _iso(buffer, p, end):
    """The time of `yyyy-mm-dd`, perhaps with `Thh:mm:ss`, a fraction and a zone behind it."""
    day = _digits(buffer, p + 8, end, 2)
    if not _is(buffer, p + 7, end, _MINUS):
        return NO_TIME
    date = _date(_digits(buffer, p, end, 4), _digits(buffer, p + 5, end, 2), day)
    p += 10
    if date == NO_TIME or p == end:
        return date
    if buffer[p] != _T and buffer[p] != _BLANK:
        return NO_TIME
    clock = _clock(buffer, p + 3, end, _digits(buffer, p + 1, end, 2))
    if clock < 0:
        return NO_TIME
    p += 9
    if _is(buffer, p, end, _POINT):
        p += 1
        if not _is_digit(buffer, p, end):
            return NO_TIME
        worth = 100
        while _is_digit(buffer, p, end):
            clock += worth * (np.int64(buffer[p]) - _ZERO)
            worth //= 10
            p += 1
    ahead = _zone(buffer, p, end)
    if ahead == NO_TIME:
        return NO_TIME
    time = date + clock - ahead
    return time if EARLIEST <= time <= LATEST else NO_TIME


@kernel
def _infore(buffer, p, end):
    """The time of `MM/dd/yyyy HH:mm:ss`; month, day and hour may have one digit."""
    width = 2 if _is_digit(buffer, p + 1, end) else 1
    month = _digits(buffer, p, end, width)
    p += width
    if not _is(buffer, p, end, _SLASH):
        return NO_TIME
    width = 2 if _is_digit(buffer, p + 2, end) else 1
    day = _digits(buffer, p + 1, end, width)
    p += 1 + width
    if not _is(buffer, p, end, _SLASH):
        return NO_TIME
    date = _date(_digits(buffer, p + 1, end, 4), month, day)
    p += 5
    if date == NO_TIME or not _is(buffer, p, end, _BLANK):
        return NO_TIME
    width = 2 if _is_digit(buffer, p + 2, end) else 1
    hour = _digits(buffer, p + 1, end, width)
    p += 1 + width
    clock = _clock(buffer, p, end, hour)
    return date + clock if clock >= 0 and p + 6 == end else NO_TIME


@kernel
def text_times(buffer, offsets, iso, infore, out, others):
    """out[i] = the time of text i, if it has one of the forms wanted, else NO_TIME.

    A text that has neither form but begins as a number does is put to `others`. How many are.
    """
    count = 0
    for i in range(out.size):
        p = offsets[i]
        end = offsets[i + 1]
        out[i] = NO_TIME
        while p < end and _is_blank(buffer[p]):
            p += 1
        while end > p and _is_blank(buffer[end - 1]):
            end -= 1
        if _is(buffer, p + 4, end, _MINUS) and _digits(buffer, p, end, 4) >= 0:
            if iso:
                out[i] = _iso(buffer, p, end)
        elif _is(buffer, p + 2, end, _SLASH) or _is(buffer, p + 1, end, _SLASH):
            if infore:
                out[i] = _infore(buffer, p, end)
        elif p < end and _PLUS <= buffer[p] <= 57:  # + - . and digits, also , and /
            others[count] = i
            count += 1
    return count


@kernel
def number_times(numbers, seconds_below, out):
    """out[i] = the time of a number: seconds if its magnitude is below that, else milliseconds."""
    for i in range(numbers.size):
        number = numbers[i]
        if abs(number) < seconds_below:
            number *= 1000.0
        number = np.rint(number)
        # False for NaN.
        out[i] = np.int64(number) if EARLIEST <= number <= LATEST else NO_TIME
