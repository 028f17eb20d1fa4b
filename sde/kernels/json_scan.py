"""A scanner for rows of JSON: an object each, whose scalars become entries (`json_values`).

What it takes means what a reader of any JSON would say; a row that it is not sure about is left to
that reader: numbers that do not fit 64 bits, names that occur twice, what is nested deeply, what
is no JSON. Two kinds of rows are read:

    tuples    of the engine's own form: data set, stream and time, with the fields in `values` or
              beside them. Nested values are passed over.
    records   of any form: each scalar by its path (`json_paths`). Of an array, every element may
              become a part of its own, which has the values beside the array as well.

Rows like the last ones are read by their shape (`json_shapes`), the others here, name by name.
Every array that is written to has a bound that is looked at: the scan stops before a row for which
there may be no room, and goes on when its caller has made some.
"""

import numpy as np
from numba import njit

from sde.kernels.compiling import kernel, load_byte, store
from sde.kernels.json_numbers import BAD, NOTHING, TEXT
from sde.kernels.json_paths import (
    FULL,
    MOMENT,
    PATHS,
    ROOT,
    UNREAD,
    add_element,
    edge_slot,
    new_edge,
    same_name,
)
from sde.kernels.json_shapes import (
    LEFT,
    MOST_SHAPES,
    MOST_VALUES,
    NO_TEXT,
    learn,
    room_for_places,
    shaped_row,
)
from sde.kernels.json_text import ESCAPED, NO_ROOM, QUOTE, skip_blanks, string_end, unescape
from sde.kernels.json_values import (
    DATASET_NAME,
    IGNORED,
    STREAM_NAME,
    TUPLE_TIME,
    bare_at,
    put_entry,
    put_of_envelope,
    text_at,
)

# Numbers of the paths of a tuple that are no fields; a record has but the root.
DATASET, DATASET_KEY, STREAM, STREAM_ID, TIME, VALUES, RESERVED = 1, 2, 3, 4, 5, 6, 7
TEXT_SLACK = 8  # bytes of room behind a text that the scanner writes
DEEPEST = 32  # objects and arrays inside each other
MOST_ELEMENTS = 16  # of an array, that an open tree gets paths for
MOST_OF_RECORD = 1_000_000  # values of the parts of one record

NO_EACH = -2  # instead of the path of an array whose elements become parts
# Why a scan stopped, beside NO_TEXT; a row may also be LEFT to the other reader.
DONE, NO_ENTRIES, NO_PARTS = 0, -3, -4

_FIRST_PATIENCE = 8  # rows that may not fit before another shape is forgotten; then twice as many
_COMMA, _COLON, _OPEN, _CLOSE, _OPEN_ARRAY, _CLOSE_ARRAY = 44, 58, 123, 125, 91, 93


def room_for_notes() -> tuple[np.ndarray, np.ndarray]:
    """What `scan` notes of the row that it is at: where its values stand, and what is open."""
    return room_for_places(), np.empty((DEEPEST, 4), np.int64)


@njit(inline="always")
def _role(child, is_tuple, inside, has_values, unwanted):
    """What the scalar at a path is."""
    if is_tuple and not inside and child < RESERVED:
        if child <= DATASET_KEY:
            return DATASET_NAME
        return TUPLE_TIME if child == TIME else STREAM_NAME
    # With `values`, what stands beside it is no field.
    return child if child < unwanted and inside == has_values else IGNORED


@njit(inline="always")
def _walk(
    buffer, p, end, row, entry, spare, part, how, time_range, tree, entries, outcome, parts, notes
):
    """Read one row, name by name.

    (the next free entry or why there is none, the next spare place, the next free part, how many
    values were noted in `places`). A name that occurs twice in an object is left to the other
    reader. `seen` says when a path was last met: moments are counted by rows and elements.
    """
    longest_name, most_fields, unwanted, is_tuple, is_open, each = how
    names, name_bounds, edge_parents, edge_paths, edge_table = tree[:5]
    first_element, next_element, element_number, inner, follows, seen, counts = tree[8:]
    places, stack = notes
    spans, times = outcome
    rows = times.size
    if is_tuple:
        store(spans, rows + row, 0)
        store(spans, 3 * rows + row, 0)
    row_moment = moment = counts[MOMENT] + 1
    counts[MOMENT] = moment
    first_entry = part_entry = entry
    first_part = part
    noted = 0
    fields = 0  # of a tuple
    beside = most_own = 0  # values of a record: outside the array `each`, and of its elements
    inside = has_values = False  # `values` of a tuple
    level = 0
    depth = 0
    each_depth = -1  # of the array whose elements are parts, while in it
    is_part = False
    path = ROOT
    is_object = True
    index = 0
    element = UNREAD  # the last one found in the list of an array's elements
    last = 0
    if p >= end or load_byte(buffer, p) != _OPEN:
        return LEFT, spare, part, noted
    p = skip_blanks(buffer, p + 1, end)
    is_empty = p < end and load_byte(buffer, p) == _CLOSE
    while True:
        child = UNREAD
        if not is_empty and is_object:
            if p >= end or load_byte(buffer, p) != QUOTE:
                return LEFT, spare, part, noted
            p += 1
            # Machines write the same names in the same order: guess before looking up.
            edge = follows[last]
            if (
                edge >= 0
                and edge_parents[edge] == path
                and same_name(buffer, p, end, names, name_bounds, edge)
            ):
                p += name_bounds[edge + 1] - name_bounds[edge]
            else:
                edge = UNREAD
                start = p
                quote = stop = string_end(buffer, p, end)
                is_escaped = quote == ESCAPED
                if is_escaped:
                    quote, stop = unescape(buffer, p, end, spare)
                    start = spare
                    if quote >= 0:
                        store(buffer, stop, np.uint8(QUOTE))
                if quote < 0:
                    return NO_TEXT if quote == NO_ROOM else LEFT, spare, part, noted
                if path >= 0:
                    if is_tuple and stop - start > longest_name:
                        return LEFT, spare, part, noted
                    edge = edge_table[edge_slot(buffer, start, stop, path, tree)]
                    if edge < 0 and is_open:
                        edge = new_edge(buffer, start, stop, path, not is_tuple, longest_name, tree)
                        if edge == FULL:
                            return LEFT, spare, part, noted
                    # A guess is compared with what is written: not with what escapes stand for.
                    if edge >= 0 and not is_escaped:
                        follows[last] = edge
                p = quote + 1
            if edge >= 0:
                last = edge + 1
                child = edge_paths[edge]
                if seen[level + child] >= moment or seen[level + child] == row_moment:
                    return LEFT, spare, part, noted
                seen[level + child] = moment
            if is_tuple and path >= 0 and (inside or child < 0 or child >= RESERVED):
                fields += 1
                if fields > most_fields:
                    return LEFT, spare, part, noted
            p = skip_blanks(buffer, p, end)
            if p >= end or load_byte(buffer, p) != _COLON:
                return LEFT, spare, part, noted
            p = skip_blanks(buffer, p + 1, end)
        elif not is_empty:
            if depth == each_depth:
                if part >= parts.shape[0]:
                    return NO_PARTS, spare, part, noted
                counts[MOMENT] += 1
                moment = counts[MOMENT]
                is_part = True
                part_entry = entry
                child = path
            elif path >= 0:
                following = first_element[path] if element < 0 else next_element[element]
                is_known = following >= 0 and element_number[following] == index
                if is_open and not is_known and index < MOST_ELEMENTS:
                    following = add_element(path, index, element, following, longest_name, tree)
                    if following < 0:
                        return LEFT, spare, part, noted
                if following >= 0 and element_number[following] == index:
                    if seen[following] >= moment or seen[following] == row_moment:
                        return LEFT, spare, part, noted
                    seen[following] = moment
                    child = element = following
            index += 1
        if not is_empty:
            if p >= end:
                return LEFT, spare, part, noted
            c = load_byte(buffer, p)
            is_values = is_tuple and child == VALUES and not inside
            is_each = child == each and not is_part
            if (is_values and c != _OPEN) or (is_each and c != _OPEN_ARRAY):
                return LEFT, spare, part, noted
            if c == _OPEN or c == _OPEN_ARRAY:
                is_of_envelope = is_tuple and not inside and 0 <= child < VALUES
                if depth + 1 == DEEPEST or is_of_envelope:
                    return LEFT, spare, part, noted
                store(stack, 4 * depth, path)
                store(stack, 4 * depth + 1, is_object)
                store(stack, 4 * depth + 2, index)
                store(stack, 4 * depth + 3, element)
                depth += 1
                if is_values:
                    has_values = inside = True
                    level = seen.size // 2
                    entry = first_entry
                    fields = 0
                    for i in range(min(noted, MOST_VALUES)):
                        if places[2, i] >= 0:
                            places[2, i] = IGNORED
                if is_each:
                    each_depth = depth
                path = UNREAD
                if child >= 0 and inner[child] and (is_values or not is_tuple):
                    path = child
                is_object = c == _OPEN
                index = 0
                element = UNREAD
                p = skip_blanks(buffer, p + 1, end)
                is_empty = p < end and load_byte(buffer, p) == (
                    _CLOSE if is_object else _CLOSE_ARRAY
                )
                if not is_empty:
                    continue
            else:
                start = p
                kind, number, text_end = TEXT, 0.0, spare
                if c == QUOTE:
                    p, first, second, text_end = text_at(buffer, p, end, spare)
                    if p < 0:
                        return NO_TEXT if p == NO_ROOM else LEFT, spare, part, noted
                else:
                    kind, p, first, second, number = bare_at(buffer, p, end)
                    if kind == BAD:
                        return LEFT, spare, part, noted
                role = IGNORED
                if child >= 0:
                    role = _role(child, is_tuple, inside, has_values, unwanted)
                if role >= 0:
                    if kind != NOTHING:
                        if entry >= entries[0].size:
                            return NO_ENTRIES, spare, part, noted
                        entry = put_entry(entry, role, kind, first, second, number, entries)
                        spare = text_end
                        beside += not is_part
                elif role != IGNORED:
                    place = 1 if role == DATASET_NAME else 3
                    if role != TUPLE_TIME and spans[place, row] != 0:
                        return LEFT, spare, part, noted
                    if not put_of_envelope(
                        buffer, role, start, p, kind, first, second, number, longest_name,
                        time_range, row, outcome,
                    ):  # fmt: skip
                        return LEFT, spare, part, noted
                    spare = text_end
                if noted < MOST_VALUES:
                    store(places, noted, start)
                    store(places, MOST_VALUES + noted, p)
                    store(places, 2 * MOST_VALUES + noted, role)
                noted += 1
        is_empty = False
        while True:
            if depth == each_depth and is_part:
                store(parts, 2 * part, part_entry)
                store(parts, 2 * part + 1, entry)
                part += 1
                is_part = False
                most_own = max(most_own, entry - part_entry)
            p = skip_blanks(buffer, p, end)
            if p >= end:
                return LEFT, spare, part, noted
            c = load_byte(buffer, p)
            if c == _COMMA:
                p = skip_blanks(buffer, p + 1, end)
                break
            if c != (_CLOSE if is_object else _CLOSE_ARRAY):
                return LEFT, spare, part, noted
            p += 1
            if depth == 0:
                if p != end:
                    return LEFT, spare, part, noted
                if is_tuple:
                    has_names = spans[1, row] != 0 and spans[3, row] != 0
                    if not has_names or not (has_values or fields > 0):
                        return LEFT, spare, part, noted
                elif is_open and beside + most_own > most_fields:
                    return LEFT, spare, part, noted
                elif (part - first_part) * (beside + 1) + entry - first_entry > MOST_OF_RECORD:
                    return LEFT, spare, part, noted
                return entry, spare, part, noted
            if depth == each_depth:
                each_depth = -1
                moment = row_moment
            depth -= 1
            path = stack[depth, 0]
            is_object = stack[depth, 1] != 0
            index = stack[depth, 2]
            element = stack[depth, 3]
            if depth == 0:
                inside = False
                level = 0


@kernel
def scan(
    buffer, row_starts, row_ends, first_row, row, last_row, entry, spare, part,
    most_cells, longest_row, how, time_range, tree, entries, taken, row_entries, row_parts,
    outcome, parts, shapes, notes,
):  # fmt: skip
    """Scan on from `row`, in the segment that begins at first_row.

    Returns why it stopped, the first row not scanned, the next free entry, the end of the texts
    that it wrote to the buffer, and the next free part. Rows are without blanks around them.

    taken[row] says whether the row was read; its entries are row_entries[row, 0] to
    row_entries[row, 1]. Of tuples, spans[:, row] holds start and end of data set and of stream,
    and times[row] is left alone where the tuple has no time. Of records of which `each` is an
    array, its elements are the parts row_parts[row, 0] to row_parts[row, 1], and part i has the
    entries parts[i, 0] to parts[i, 1]; the others are those beside it.

    A segment ends when its fields times its rows pass `most_cells`, or the fields of an open tree
    `most_fields`. Values of paths from the number `unwanted` on become no entries.
    """
    used = 0  # shapes
    current = 0
    oldest = 0
    misses = patience = 0
    counts = tree[14]
    longest_name, most_fields, _, is_tuple, is_open, each = how
    reserved = RESERVED if is_tuple else 1
    while row < last_row:
        known = counts[PATHS] - reserved
        if row > first_row and (
            (is_open and known > most_fields)
            or max(row - first_row, part) * (known + 1) > most_cells
        ):
            break
        if entry + MOST_VALUES > entries[0].size:
            return NO_ENTRIES, row, entry, spare, part
        after = LEFT
        text_end = spare
        next_part = part
        start, end = row_starts[row], row_ends[row]
        if end - start <= longest_row:
            if end + 8 <= buffer.size:
                for attempt in range(used):
                    shape = current + attempt
                    if shape >= used:
                        shape -= used
                    after, text_end = shaped_row(
                        buffer, start, end, row, entry, spare, shape, shapes, longest_name,
                        time_range, entries, outcome,
                    )  # fmt: skip
                    if after != LEFT:
                        current = shape
                        break
            if after == LEFT:
                after, text_end, next_part, noted = _walk(
                    buffer, start, end, row, entry, spare, part, how, time_range, tree, entries,
                    outcome, parts, notes,
                )  # fmt: skip
                misses += 1
                is_free = used < MOST_SHAPES
                if after >= 0 and each < 0 and (is_free or misses > patience):
                    shape = used if is_free else oldest
                    if learn(buffer, start, end, notes[0], noted, shape, shapes):
                        current = shape
                        if is_free:
                            used += 1
                        else:
                            oldest = (oldest + 1) % MOST_SHAPES
                            misses, patience = 0, max(_FIRST_PATIENCE, 2 * patience)
            if after < LEFT:
                return after, row, entry, spare, part
        taken[row] = after >= 0
        row_entries[row, 0] = entry
        if each >= 0:
            row_parts[row, 0] = part
        if after >= 0:
            entry, spare, part = after, text_end, next_part
        row_entries[row, 1] = entry
        if each >= 0:
            row_parts[row, 1] = part
        row += 1
    return DONE, row, entry, spare, part
