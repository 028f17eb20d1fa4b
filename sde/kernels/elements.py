"""Where the elements of arrays begin and end, for `sde.decoding.json_tables`.

Only quotes, brackets and commas are looked at. What lies between the commas is read as JSON
later, each element by itself, so that a bad one does not spoil its neighbours.
"""

from sde.kernels.compiling import kernel, load_byte, store

_QUOTE, _BACKSLASH, _COMMA = 34, 92, 44


@kernel
def _blanks_end(buffer, p, end):
    while p < end:
        c = load_byte(buffer, p)
        if c != 32 and c != 10 and c != 13 and c != 9:
            break
        p += 1
    return p


@kernel
def _element_end(buffer, p, end):
    """The place of the comma or bracket behind the element that starts here; -1 if none is."""
    depth = 0
    while p < end:
        c = load_byte(buffer, p)
        if c == _QUOTE:
            p += 1
            while p < end and load_byte(buffer, p) != _QUOTE:
                p += 2 if load_byte(buffer, p) == _BACKSLASH else 1
        elif c == 91 or c == 123:  # [ {
            depth += 1
        elif c == 93 or c == 125:  # ] }
            if depth == 0:
                return p if c == 93 else -1
            depth -= 1
        elif c == _COMMA and depth == 0:
            return p
        p += 1
    return -1


@kernel
def _split_array(buffer, p, end, row, at, out_starts, out_ends, out_rows):
    """Write the elements of the array that begins behind p to out[at:]; the place after them.

    -1 if it is no array: not closed where it should be, or with nothing between two commas. What
    does not fit is only counted.
    """
    p = _blanks_end(buffer, p + 1, end)
    if p < end and load_byte(buffer, p) == 93:
        return at if p + 1 == end else -1
    while True:
        stop = _element_end(buffer, p, end)
        last = stop
        while last > p and _blanks_end(buffer, last - 1, last) == last:
            last -= 1
        if stop < 0 or last == p:
            return -1
        if at < out_rows.size:
            store(out_starts, at, p)
            store(out_ends, at, last)
            store(out_rows, at, row)
        at += 1
        if load_byte(buffer, stop) == 93:
            return at if stop + 1 == end else -1
        p = _blanks_end(buffer, stop + 1, end)


@kernel
def split_arrays(buffer, row_starts, row_ends, out_starts, out_ends, out_rows):
    """Every row, or if it is an array every element of it; how many there are.

    Rows and elements are without blanks around them; element i is of row out_rows[i]. A row that
    begins like an array and is none stays as it is. What does not fit is only counted.
    """
    at = 0
    for row in range(row_starts.size):
        start, end = row_starts[row], row_ends[row]
        after = -1
        if load_byte(buffer, start) == 91:
            after = _split_array(buffer, start, end, row, at, out_starts, out_ends, out_rows)
        if after < 0:
            if at < out_rows.size:
                store(out_starts, at, start)
                store(out_ends, at, end)
                store(out_rows, at, row)
            after = at + 1
        at = after
    return at
