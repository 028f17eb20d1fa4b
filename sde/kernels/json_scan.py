"""A scanner for the strict subset of JSON that machines write for data tuples.

It takes an object whose strings have no escapes and whose numbers fit 64 bits, with at most one
object inside it, under the name `values`. Whatever else a row is, good or bad, it is left to the
reader of any JSON: what is taken here means the same there.

Tuples of one producer are alike: the same text stands between their values. A row that was taken
is learnt as such a shape, and rows of the same shape are read without looking for names; what does
not fit is scanned.

A value becomes an entry of four parts: the number of its field's name, its type, and two words:
INTEGER (its value, 0), DECIMAL (the bits of its float64, 0), TEXT and LONG_DECIMAL (where it
starts and ends in the buffer). `true` and `false` are texts. `null` is nothing.

Every array that it writes to has a bound that it looks at; a row that would not fit is left to the
other reader. All of it is one file because numba's cache notices only edits of the file a kernel
stands in.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sde.kernels.compiling import kernel, load, load_byte, load_word, store

# Types of a value, and of what is no value.
NOTHING, INTEGER, DECIMAL, TEXT, LONG_DECIMAL, BAD = 0, 1, 2, 3, 4, 5
# Numbers of the names that the caller has put into the dictionary beforehand.
DATASET, DATASET_KEY, STREAM, STREAM_ID, TIME, VALUES, RESERVED = 0, 1, 2, 3, 4, 5, 6

# What a value of a shape is, where it is not a field (that has its name's number).
_DATASET_SPAN, _STREAM_SPAN, _TUPLE_TIME, _IGNORED = -1, -2, -3, -4
_MOST_VALUES, _MOST_TEXT = 64, 2048  # of a shape
_FIRST_PATIENCE = 8  # rows that may not fit before another shape is learnt; then twice as many

_QUOTE, _BACKSLASH, _COMMA, _COLON, _OPEN, _CLOSE = 34, 92, 44, 58, 123, 125
_MINUS, _PLUS, _POINT, _ZERO, _NINE, _E = 45, 43, 46, 48, 57, 101
_TRUE, _FALSE, _NULL = (np.frombuffer(w, np.uint8) for w in (b"true", b"false", b"null"))
_POWERS = np.array([10.0**i for i in range(23)])  # all of them exact
_WHOLE_POWERS = np.array([10**i for i in range(9)], np.uint64)
_LARGEST_EXACT = np.uint64(2**53)
_INT64_MAX = np.uint64(2**63 - 1)
# Eight bytes at once: the same byte in all eight places of a word.
_ONES = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_QUOTES, _BACKSLASHES, _SPACES, _ZEROS = (_ONES * np.uint64(c) for c in (34, 92, 32, 48))
_TO_HIGH_BIT = _ONES * np.uint64(0x80 - 10)


@intrinsic
def _zero_bits_below(typing, word):
    """How many bits stand below the lowest one that is set."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@njit(inline="always")
def _skip_blanks(buffer, p, end):
    while p < end and (
        load_byte(buffer, p) == 32
        or load_byte(buffer, p) == 10
        or load_byte(buffer, p) == 13
        or load_byte(buffer, p) == 9
    ):
        p += 1
    return p


@kernel
def _is_utf8(buffer, p, end):
    while p < end:
        lead = load_byte(buffer, p)
        more = (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
        if 0x80 <= lead < 0xC2 or lead > 0xF4 or p + more >= end:
            return False
        code = lead & (0x3F >> more) if more else lead
        for i in range(1, more + 1):
            if load_byte(buffer, p + i) & 0xC0 != 0x80:
                return False
            code = (code << 6) | (load_byte(buffer, p + i) & 0x3F)
        # No long forms, no surrogates, nothing beyond Unicode.
        if (more == 2 and code < 0x800) or 0xD800 <= code <= 0xDFFF:
            return False
        if more == 3 and not 0x10000 <= code <= 0x10FFFF:
            return False
        p += more + 1
    return True


@njit(inline="always")
def _string_end(buffer, start, end):
    """The place of the closing quote of a plain string; -1 if it is not plain or not UTF-8."""
    p = start
    seen = np.uint64(0)
    while p + 8 <= buffer.size:
        word = load_word(buffer, p)
        seen |= word
        quotes = word ^ _QUOTES
        backslashes = word ^ _BACKSLASHES
        # The high bit of a place is set if its byte is 0 in a xor or below a space; a borrow may
        # set higher places wrongly, never lower ones.
        hits = ((quotes - _ONES) & ~quotes) | ((backslashes - _ONES) & ~backslashes)
        hits = (hits | ((word - _SPACES) & ~word)) & _HIGH_BITS
        if hits:
            p += _zero_bits_below(hits) >> 3
            break
        p += 8
    while (
        p < end
        and load_byte(buffer, p) >= 32
        and load_byte(buffer, p) != _QUOTE
        and load_byte(buffer, p) != _BACKSLASH
    ):
        seen |= np.uint64(load_byte(buffer, p))
        p += 1
    if p >= end or load_byte(buffer, p) != _QUOTE:
        return -1
    return p if not seen & _HIGH_BITS or _is_utf8(buffer, start, p) else -1


@njit(inline="always")
def _leading_digits(word):
    """How many of the eight bytes, from the first one on, are digits."""
    # A digit is 0 to 9 without its 0x30; what is more gets its high bit set. A carry may set
    # that of higher bytes wrongly, never of lower ones.
    digits = word ^ _ZEROS
    others = ((digits + _TO_HIGH_BIT) | digits) & _HIGH_BITS
    return _zero_bits_below(others) >> 3 if others else 8


@njit(inline="always")
def _number_of_eight(word):
    """Eight digits, the first one lowest: neighbours are put together, then pairs, then fours."""
    word -= np.uint64(0x3030303030303030)
    word = (word * np.uint64(10) + (word >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    word = (word * np.uint64(100) + (word >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (word * np.uint64(10_000) + (word >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


@njit(inline="always")
def _digits(buffer, p, end, mantissa):
    """(place after the digits that start here, the number they make behind those before)."""
    while p + 8 <= buffer.size:
        word = load_word(buffer, p)
        count = min(_leading_digits(word), end - p)
        if count < 8:
            if count > 0:
                # Zeros in front make eight digits of them.
                unused = np.uint64(64 - 8 * count)
                word = (word << unused) | (_ZEROS >> (np.uint64(64) - unused))
                mantissa = mantissa * _WHOLE_POWERS[count] + _number_of_eight(word)
            return p + count, mantissa
        mantissa = mantissa * _WHOLE_POWERS[8] + _number_of_eight(word)
        p += 8
    while p < end:
        digit = load_byte(buffer, p) - _ZERO
        if digit < 0 or digit > 9:
            break
        mantissa = mantissa * np.uint64(10) + np.uint64(digit)
        p += 1
    return p, mantissa


@kernel
def _exponent(buffer, p, end):
    """(place after the exponent, its value) behind an `e`; the place is -1 if there is none."""
    down = p < end and load_byte(buffer, p) == _MINUS
    if p < end and (load_byte(buffer, p) == _MINUS or load_byte(buffer, p) == _PLUS):
        p += 1
    first = p
    exponent = 0
    while p < end and _ZERO <= load_byte(buffer, p) <= _NINE:
        exponent = min(exponent * 10 + load_byte(buffer, p) - _ZERO, 10_000)
        p += 1
    return -1 if p == first else p, -exponent if down else exponent


@njit(inline="always")
def _number(buffer, start, end):
    """(type, place after it, integer, float) of the number that starts here."""
    p = start
    negative = load_byte(buffer, p) == _MINUS
    if negative:
        p += 1
    first = p
    p, mantissa = _digits(buffer, p, end, np.uint64(0))
    digits = p - first
    if digits == 0 or (digits > 1 and load_byte(buffer, first) == _ZERO):
        return BAD, p, 0, 0.0
    follows = load_byte(buffer, p) if p < end else 0
    if follows != _POINT and follows | 32 != _E:
        if digits > 19 or mantissa > _INT64_MAX:
            return BAD, p, 0, 0.0
        integer = np.int64(mantissa)
        return INTEGER, p, -integer if negative else integer, 0.0
    decimals = 0
    if follows == _POINT:
        point = p + 1
        p, mantissa = _digits(buffer, point, end, mantissa)
        decimals = p - point
        if decimals == 0:
            return BAD, p, 0, 0.0
        follows = load_byte(buffer, p) if p < end else 0
    exponent = 0
    if follows | 32 == _E:
        p, exponent = _exponent(buffer, p + 1, end)
        if p < 0:
            return BAD, p, 0, 0.0
    power = exponent - decimals
    if digits + decimals <= 19 and mantissa <= _LARGEST_EXACT and -22 <= power <= 22:
        # Both factors are exact, so the one rounding is the right one (Clinger 1990).
        number = np.float64(mantissa)
        number = number / _POWERS[-power] if power < 0 else number * _POWERS[power]
        return DECIMAL, p, 0, -number if negative else number
    if digits + exponent > 300 or power < -300:
        return BAD, p, 0, 0.0  # near the ends of what a float64 can hold
    return LONG_DECIMAL, p, start, 0.0


@njit(inline="always")
def _digits_end(buffer, p, end):
    """The place after the digits that start here; eight of them at most."""
    if p + 8 <= buffer.size:
        return p + min(_leading_digits(load_word(buffer, p)), end - p)
    first = p
    while p < end and p < first + 8 and _ZERO <= load_byte(buffer, p) <= _NINE:
        p += 1
    return p


@njit(inline="always")
def _short_number_end(buffer, start, end):
    """The place after a number that nobody reads; -1 if it has to be looked at more closely."""
    first = start + 1 if load_byte(buffer, start) == _MINUS else start
    p = _digits_end(buffer, first, end)
    digits = p - first
    if digits == 0 or digits == 8 or (digits > 1 and load_byte(buffer, first) == _ZERO):
        return -1
    if p < end and load_byte(buffer, p) == _POINT:
        first = p + 1
        p = _digits_end(buffer, first, end)
        if p == first or p == first + 8:
            return -1
    return -1 if p < end and load_byte(buffer, p) | 32 == _E else p


@kernel
def _is_word(buffer, p, end, word):
    if p + word.size > end:
        return False
    for i in range(word.size):
        if load_byte(buffer, p + i) != word[i]:
            return False
    return True


@njit(inline="always")
def _value(buffer, p, end):
    """(type, place after it, first word, second word, float) of the value that starts here."""
    if p >= end:
        return BAD, p, 0, 0, 0.0
    c = load_byte(buffer, p)
    if c == _QUOTE:
        quote = _string_end(buffer, p + 1, end)
        return (BAD, p, 0, 0, 0.0) if quote < 0 else (TEXT, quote + 1, p + 1, quote, 0.0)
    if c == _MINUS or _ZERO <= c <= _NINE:
        kind, after, first, number = _number(buffer, p, end)
        return kind, after, first, after if kind == LONG_DECIMAL else 0, number
    if c == 116 and _is_word(buffer, p, end, _TRUE):
        return TEXT, p + 4, p, p + 4, 0.0
    if c == 102 and _is_word(buffer, p, end, _FALSE):
        return TEXT, p + 5, p, p + 5, 0.0
    if c == 110 and _is_word(buffer, p, end, _NULL):
        return NOTHING, p + 4, 0, 0, 0.0
    return BAD, p, 0, 0, 0.0


@njit(inline="always")
def _same_name(buffer, start, end, names, name_offsets, name):
    """Whether that name and its closing quote stand at `start`."""
    at = name_offsets[name]
    size = name_offsets[name + 1] - at
    if start + size > end:
        return False
    i = 0
    while i < size and start + i + 8 <= buffer.size:
        differing = load_word(buffer, start + i) ^ load_word(names, at + i)
        if size - i < 8:
            differing &= (np.uint64(1) << np.uint64(8 * (size - i))) - np.uint64(1)
        if differing:
            return False
        i += 8
    while i < size:
        if load_byte(buffer, start + i) != names[at + i]:
            return False
        i += 1
    return True


@kernel
def name_number(buffer, start, end, names, name_offsets, counts, table):
    """The number of the name buffer[start:end]; a new name is put in. A quote follows it.

    Names are kept with their quote; behind the last one there is room for eight bytes more. -1 if
    there is no room for a new name. The table has more slots than there can be names.
    """
    h = np.uint64(14695981039346656037)
    for p in range(start, end):
        h = (h ^ np.uint64(load_byte(buffer, p))) * np.uint64(1099511628211)
    mask = table.size - 1
    slot = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(mask))
    while table[slot] >= 0:
        name = table[slot]
        if name_offsets[name + 1] - name_offsets[name] == end - start + 1 and _same_name(
            buffer, start, end + 1, names, name_offsets, name
        ):
            return name
        slot = (slot + 1) & mask
    name = counts[0]
    at = name_offsets[name]
    if name + 1 >= name_offsets.size or at + end - start + 1 + 8 > names.size:
        return -1
    for i in range(end - start + 1):
        names[at + i] = load_byte(buffer, start + i)
    name_offsets[name + 1] = at + end - start + 1
    table[slot] = name
    counts[0] = name + 1
    return name


@njit(inline="always")
def _put_entry(
    entry, field, kind, first, second, number,
    entry_fields, entry_types, entry_words, entry_floats,
):  # fmt: skip
    """Write a value down; the next free entry."""
    store(entry_fields, entry, field)
    store(entry_types, entry, kind)
    store(entry_words, 2 * entry, first)
    store(entry_words, 2 * entry + 1, second)
    if kind == DECIMAL:
        store(entry_floats, 2 * entry, number)
    return entry + 1


@njit(inline="always")
def _row(
    buffer, p, end, row, entry, longest_name, most_fields, unwanted, time_range,
    names, name_offsets, counts, table, follows, seen,
    entry_fields, entry_types, entry_words, entry_floats, spans, times,
):  # fmt: skip
    """Scan one tuple: the next free entry, or -1 if the row is not in the subset.

    A name that occurs twice beside `values`, or twice in it, is not in the subset: each may occur
    once in both. seen[level + name] is the last row that had the name there.
    """
    spans[1, row] = 0
    spans[3, row] = 0
    first_entry = entry
    inside = False  # of `values`
    has_values = False
    fields = 0
    last = 0
    level = 0
    if p >= end or load_byte(buffer, p) != _OPEN:
        return -1
    p += 1
    while True:
        p = _skip_blanks(buffer, p, end)
        if p >= end or load_byte(buffer, p) != _QUOTE:
            return -1
        p += 1
        # Machines write the same names in the same order: guess before looking up.
        name = follows[last]
        if name >= 0 and _same_name(buffer, p, end, names, name_offsets, name):
            p += name_offsets[name + 1] - name_offsets[name]
        else:
            quote = _string_end(buffer, p, end)
            if quote < 0 or quote - p > longest_name:
                return -1
            name = name_number(buffer, p, quote, names, name_offsets, counts, table)
            if name < 0:
                return -1
            follows[last] = name
            p = quote + 1
        last = name + 1
        if seen[level + name] == row:
            return -1
        seen[level + name] = row
        p = _skip_blanks(buffer, p, end)
        if p >= end or load_byte(buffer, p) != _COLON:
            return -1
        p = _skip_blanks(buffer, p + 1, end)
        if name == VALUES and not inside:
            if p >= end or load_byte(buffer, p) != _OPEN:
                return -1
            # With `values`, what stands beside it is no field.
            entry = first_entry
            fields = 0
            inside = True
            has_values = True
            level = seen.size // 2
            p = _skip_blanks(buffer, p + 1, end)
            if p < end and load_byte(buffer, p) != _CLOSE:
                continue
        else:
            kind, p, first, second, number = _value(buffer, p, end)
            if kind == BAD:
                return -1
            if inside or name >= RESERVED:
                fields += 1
                if fields > most_fields:
                    return -1
                if kind != NOTHING and inside == has_values and name < unwanted:
                    entry = _put_entry(
                        entry, name, kind, first, second, number,
                        entry_fields, entry_types, entry_words, entry_floats,
                    )  # fmt: skip
            elif name == TIME:
                if kind == INTEGER and time_range[0] <= first <= time_range[1]:
                    times[row] = first
                elif kind != NOTHING:
                    return -1
            else:
                # Only texts: a number as a stream's name is rare enough for the other reader.
                place = 0 if name <= DATASET_KEY else 2
                if (
                    kind != TEXT
                    or load_byte(buffer, first - 1) != _QUOTE
                    or spans[place + 1, row] != 0
                ):
                    return -1
                if second == first or second - first > longest_name:
                    return -1
                spans[place, row] = first
                spans[place + 1, row] = second
        while True:
            p = _skip_blanks(buffer, p, end)
            if p >= end:
                return -1
            if load_byte(buffer, p) == _COMMA:
                p += 1
                break
            if load_byte(buffer, p) != _CLOSE:
                return -1
            p += 1
            if not inside:
                complete = spans[1, row] != 0 and spans[3, row] != 0 and (has_values or fields > 0)
                return entry if complete and p == end else -1
            inside = False
            level = 0


@kernel
def _learn(
    buffer, p, end, unwanted, names, name_offsets, counts, table,
    text, bounds, words, masks, word_bounds, roles, is_text,
):  # fmt: skip
    """The shape of a row that was taken; how many values it has, 0 if it can be no shape.

    Value i stands behind text[bounds[i]:bounds[i + 1]], quotes belong to the texts around it;
    roles[i] says what it is. One more text stands behind the last value.
    """
    count = 0
    used = 0
    depth = 0
    has_values = False
    name = -1  # whose value comes
    start = p  # of what stands in front of the next value
    bounds[0] = 0
    while p < end:
        c = load_byte(buffer, p)
        if c == _OPEN or c == _CLOSE:
            depth += 1 if c == _OPEN else -1
            if depth == 2:
                has_values = True
                for i in range(count):
                    if roles[i] >= 0:
                        roles[i] = _IGNORED
            name = -1
            p += 1
        elif c == _QUOTE and name < 0:
            quote = _string_end(buffer, p + 1, end)
            name = name_number(buffer, p + 1, quote, names, name_offsets, counts, table)
            if name < 0:
                return 0
            p = quote + 1
        elif name >= 0 and (c == _QUOTE or c == _MINUS or _ZERO <= c <= _NINE):
            is_text[count] = c == _QUOTE
            if c == _QUOTE:
                p += 1
            if count + 1 == roles.size or used + p - start + 8 > text.size:
                return 0
            for i in range(start, p):
                text[used] = load_byte(buffer, i)
                used += 1
            if depth == 1 and name <= DATASET_KEY:
                roles[count] = _DATASET_SPAN
            elif depth == 1 and name <= STREAM_ID:
                roles[count] = _STREAM_SPAN
            elif depth == 1 and name == TIME:
                roles[count] = _TUPLE_TIME
            else:
                ignored = (depth == 1 and has_values) or name >= unwanted
                roles[count] = _IGNORED if ignored else name
            count += 1
            bounds[count] = used
            if c == _QUOTE:
                start = _string_end(buffer, p, end)
                p = start + 1
            else:
                _, p, _, _ = _number(buffer, p, end)
                start = p
            name = -1
        elif c == _COLON or c == _COMMA or c <= 32:
            p += 1
        else:
            return 0  # true, false, null: of other rows they are not
    if used + end - start + 8 > text.size:
        return 0
    for i in range(start, end):
        text[used] = load_byte(buffer, i)
        used += 1
    bounds[count + 1] = used
    _put_words(text, bounds, count + 1, words, masks, word_bounds)
    return count


@kernel
def _put_words(text, bounds, count, words, masks, word_bounds):
    """The texts of a shape in words of eight bytes, with masks for what is not in the last ones."""
    k = 0
    word_bounds[0] = 0
    for i in range(count):
        for at in range(bounds[i], bounds[i + 1], 8):
            inside = min(8, bounds[i + 1] - at)
            masks[k] = ~np.uint64(0) >> np.uint64(64 - 8 * inside)
            words[k] = load_word(text, at) & masks[k]
            k += 1
        word_bounds[i + 1] = k


@njit(inline="always")
def _stands_at(buffer, p, words, masks, first, last):
    """Whether these words of a shape stand there; the buffer goes on for eight bytes behind."""
    differing = np.uint64(0)
    for k in range(first, last):
        differing |= (load_word(buffer, p) & load(masks, k)) ^ load(words, k)
        p += 8
    return differing == 0


@njit(inline="always")
def _shaped_row(
    buffer, p, end, row, entry, longest_name, time_range,
    values, bounds, words, masks, word_bounds, roles, is_text,
    entry_fields, entry_types, entry_words, entry_floats, spans, times,
):  # fmt: skip
    """Read one tuple of that shape: the next free entry, or -1 if the row has not the shape."""
    rows = times.size
    for i in range(values):
        size = load(bounds, i + 1) - load(bounds, i)
        if p + size > end or not _stands_at(
            buffer, p, words, masks, load(word_bounds, i), load(word_bounds, i + 1)
        ):
            return -1
        p += size
        role = load(roles, i)
        kind, first, second, number = NOTHING, 0, 0, 0.0
        if load(is_text, i):
            after = _string_end(buffer, p, end)
            if after < 0:
                return -1
            kind, first, second, number = TEXT, p, after, 0.0
        else:
            if p >= end:
                return -1
            after = _short_number_end(buffer, p, end) if role == _IGNORED else -1
            if after < 0:
                kind, after, first, number = _number(buffer, p, end)
                if kind == BAD:
                    return -1
                second = after if kind == LONG_DECIMAL else 0
        if role >= 0:
            entry = _put_entry(
                entry, role, kind, first, second, number,
                entry_fields, entry_types, entry_words, entry_floats,
            )  # fmt: skip
        elif role == _TUPLE_TIME:
            if kind != INTEGER or not time_range[0] <= first <= time_range[1]:
                return -1
            store(times, row, first)
        elif role != _IGNORED:
            place = 0 if role == _DATASET_SPAN else 2
            if second == first or second - first > longest_name:
                return -1
            store(spans, place * rows + row, first)
            store(spans, (place + 1) * rows + row, second)
        p = after
    if p + bounds[values + 1] - bounds[values] != end or not _stands_at(
        buffer, p, words, masks, word_bounds[values], word_bounds[values + 1]
    ):
        return -1
    return entry


def room_for_shape() -> tuple[np.ndarray, ...]:
    """Arrays in which `scan` keeps the shape of the rows it has met."""
    most_words = _MOST_TEXT // 8 + _MOST_VALUES
    return (
        np.empty(_MOST_TEXT, np.uint8),
        np.empty(_MOST_VALUES + 1, np.int64),
        np.empty(most_words, np.uint64),
        np.empty(most_words, np.uint64),
        np.empty(_MOST_VALUES + 1, np.int64),
        np.empty(_MOST_VALUES, np.int64),
        np.empty(_MOST_VALUES, np.bool_),
    )


@kernel
def scan(
    buffer, row_starts, row_ends, first_row, row, last_row, entry,
    most_cells, longest_row, longest_name, most_fields, unwanted, time_range,
    names, name_offsets, counts, table, follows, seen,
    entry_fields, entry_types, entry_words, entry_floats,
    row_entries, taken, spans, times, shape,
):  # fmt: skip
    """Scan on from `row`, in the segment that begins at first_row.

    Returns whether it stopped for want of room for entries, the first row not scanned, and the
    next free entry. Rows are without blanks around them. taken[row] says whether the row was in
    the subset; its entries are row_entries[row, 0] to row_entries[row, 1]; spans[:, row] holds
    start and end of data set and of stream; times[row] is left alone where the tuple has no time.
    A segment ends when its fields times its rows pass `most_cells`, or its fields `most_fields`.
    Values of names from the number `unwanted` on become no entries. `shape` is `room_for_shape`.
    """
    values = 0  # of the shape; 0: none
    misses = patience = 0
    text, bounds, words, masks, word_bounds, roles, is_text = shape
    while row < last_row:
        known = counts[0] - RESERVED
        if known > most_fields or (row - first_row) * (known + 1) > most_cells:
            break
        if entry + 2 * most_fields + 2 > entry_fields.size:
            return True, row, entry
        after = -1
        start, end = row_starts[row], row_ends[row]
        if end - start <= longest_row:
            if values and end + 8 <= buffer.size:
                after = _shaped_row(
                    buffer, start, end, row, entry, longest_name, time_range,
                    values, bounds, words, masks, word_bounds, roles, is_text,
                    entry_fields, entry_types, entry_words, entry_floats, spans, times,
                )  # fmt: skip
            if after < 0:
                after = _row(
                    buffer, start, end, row, entry, longest_name, most_fields, unwanted,
                    time_range, names, name_offsets, counts, table, follows, seen,
                    entry_fields, entry_types, entry_words, entry_floats, spans, times,
                )  # fmt: skip
                misses += 1
                if after >= 0 and misses > patience:
                    values = _learn(
                        buffer, start, end, unwanted, names, name_offsets, counts, table,
                        text, bounds, words, masks, word_bounds, roles, is_text,
                    )  # fmt: skip
                    misses, patience = 0, max(_FIRST_PATIENCE, 2 * patience)
        taken[row] = after >= 0
        row_entries[row, 0] = entry
        entry = max(entry, after)
        row_entries[row, 1] = entry
        row += 1
    return False, row, entry
