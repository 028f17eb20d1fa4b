"""Records with parts become rows: each part with the values beside the array it stood in."""

from sde.kernels.compiling import kernel


@kernel
def count_entries(rows, row_entries, row_parts, parts):
    """How many entries the rows made of records have."""
    count = 0
    for i in range(rows.size):
        row = rows[i]
        own = 0
        for part in range(row_parts[row, 0], row_parts[row, 1]):
            own += parts[part, 1] - parts[part, 0]
        beside = row_entries[row, 1] - row_entries[row, 0] - own
        count += own + beside * (row_parts[row, 1] - row_parts[row, 0])
    return count


@kernel
def place_entries(rows, row_entries, row_parts, parts, at, chosen, out_entries):
    """A row for each part: those of the record's entries that stand beside the parts, and its own.

    Row i has the entries chosen[j - at], j from out_entries[i, 0] to out_entries[i, 1].
    """
    filled = 0
    out = 0
    for i in range(rows.size):
        row = rows[i]
        first_part, last_part = row_parts[row, 0], row_parts[row, 1]
        for part in range(first_part, last_part):
            out_entries[out, 0] = at + filled
            for e in range(row_entries[row, 0], parts[first_part, 0]):
                chosen[filled] = e
                filled += 1
            for e in range(parts[part, 0], parts[part, 1]):
                chosen[filled] = e
                filled += 1
            for e in range(parts[last_part - 1, 1], row_entries[row, 1]):
                chosen[filled] = e
                filled += 1
            out_entries[out, 1] = at + filled
            out += 1
