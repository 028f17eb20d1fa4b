"""Reads Protobuf messages by tables that `sde.decoding.protobuf_program` makes of their schema.

A node is a message at some path: its fields by number, and the columns that have their default
value if the message has not said another. A field is six words: its number, its kind, its column
(-1: none, the value is only checked), the node of a message, and which columns in `lists` lose
their value as it gets one: those of the same oneof. A message that is not well formed is refused:
`outcomes` says why. Nothing is read beyond its end; every turn of a loop takes bytes.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sde.kernels.compiling import kernel, load, load_byte, load_word, store
from sde.kernels.utf8 import is_text

# Kinds of fields, in the order of how they are written: varints, 4 bytes, 8 bytes, with a size.
INT32, INT64, UINT32, SINT32, SINT64, BOOL = 0, 1, 2, 3, 4, 5
FIXED32, SFIXED32, FLOAT = 6, 7, 8
FIXED64, DOUBLE = 9, 10
STRING, BYTES, MESSAGE = 11, 12, 13
REPEATED = 16  # is added to the kind; none of its values has a column
FIELD, NODE = 6, 4  # words of one

# Outcomes.
FINE, ENDED, LONG_NUMBER, BAD_TAG, BAD_SIZE, NOT_UTF8, TOO_DEEP, GROUP = (
    0,
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
    -7,
)
BAD_INDEXES = -8

DEPTH, FRAME = 100, 2  # messages inside each other, and the words that one keeps
_VARINT, _EIGHT_BYTES, _SIZED, _OPEN_GROUP, _FOUR_BYTES = 0, 1, 2, 3, 5  # how a value is written
_MOST_INDEXES = 8  # bytes


@njit(inline="always")
def _varint(buffer, p, end):
    """(place behind it, value); the place is an outcome if there is none."""
    value = np.uint64(0)
    shift = np.uint64(0)
    byte = 0x80
    while byte & 0x80 and p < end and shift < np.uint64(70):
        byte = load_byte(buffer, p)
        p += 1
        value |= np.uint64(byte & 0x7F) << shift
        shift += np.uint64(7)
    if byte & 0x80:
        p = ENDED if shift < np.uint64(70) else LONG_NUMBER
    return p, np.int64(value)


@intrinsic
def _float_of_bits(typing, bits):
    """The float32 with these 32 bits, as float64."""

    def generate(context, builder, signature, args):
        single = builder.bitcast(builder.trunc(args[0], ir.IntType(32)), ir.FloatType())
        return builder.fpext(single, ir.DoubleType())

    return types.float64(types.int64), generate


@njit(inline="always")
def _four_bytes(buffer, p):
    bits = 0
    for i in range(4):
        bits |= load_byte(buffer, p + i) << (8 * i)
    return bits


@njit(inline="always")
def _signed32(value):
    return (value << 32) >> 32


@njit(inline="always")
def _integer(kind, value):
    """What a varint, or a number of 4 bytes, of this kind means."""
    if kind == INT32 or kind == SFIXED32:
        return _signed32(value)
    if kind == UINT32:
        return value & 0xFFFFFFFF
    if kind == SINT32:
        value &= 0xFFFFFFFF
        return (value >> 1) ^ -(value & 1)
    if kind == SINT64:
        return np.int64(np.uint64(value) >> np.uint64(1)) ^ -(value & 1)
    if kind == BOOL:
        return 1 if value != 0 else 0
    return value


@njit(inline="always")
def _writing(kind):
    """How a value of this kind is written."""
    if kind < FIXED32:
        return _VARINT
    if kind < FIXED64:
        return _FOUR_BYTES
    return _EIGHT_BYTES if kind < STRING else _SIZED


@njit(inline="always")
def _field_of(fields, first, stop, number, expected):
    """The field with this number, -1 if there is none. Most often it is the expected one."""
    if expected < stop and load(fields, FIELD * expected) == number:
        return expected
    low = first
    high = stop
    while low < high:
        middle = (low + high) // 2
        if load(fields, FIELD * middle) < number:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and load(fields, FIELD * low) == number else -1


@njit(inline="always")
def _check_packed(buffer, p, end, kind):
    """The end of values written one after the other, or an outcome."""
    if kind >= FIXED32:
        width = 4 if kind < FIXED64 else 8
        return end if (end - p) % width == 0 else BAD_SIZE
    while 0 <= p < end:
        p, _ = _varint(buffer, p, end)
    return p


@njit(inline="always")
def _set_defaults(nodes, node, lists, rows, row, words, stops, present):
    for i in range(load(nodes, NODE * node + 2), load(nodes, NODE * node + 3)):
        cell = load(lists, i) * rows + row
        if not load(present, cell):
            store(words, cell, 0)
            store(stops, cell, 0)
            store(present, cell, True)


@kernel
def read_messages(
    buffer, starts, ends, nodes, fields, lists, stack,
    words, floats, stops, present, outcomes, places,
):  # fmt: skip
    """Message i, buffer[starts[i]:ends[i]], into the cells [column, i]; see `sde.kernels.avro`.

    places[i] is the field at which a message was refused, -1 if it was none.
    """
    rows = starts.size
    for row in range(rows):
        p = starts[row]
        end = ends[row]
        node = 0
        depth = 0
        field = -1
        _set_defaults(nodes, 0, lists, rows, row, words, stops, present)
        while True:
            if p == end:
                if depth == 0:
                    break
                depth -= 1
                end = load(stack, FRAME * depth)
                node = load(stack, FRAME * depth + 1)
                field = -1
                continue
            p, tag = _varint(buffer, p, end)
            if p >= 0 and not 8 <= tag < 2**32:
                p = BAD_TAG
            if p < 0:
                break
            first = load(nodes, NODE * node)
            stop = load(nodes, NODE * node + 1)
            expected = field + 1 if field >= 0 else first
            field = _field_of(fields, first, stop, tag >> 3, expected)
            writing = tag & 7
            kind = -1
            column = -1
            if field >= 0:
                kind = load(fields, FIELD * field + 1)
                column = load(fields, FIELD * field + 2)
            is_repeated = kind >= REPEATED
            if is_repeated:
                kind -= REPEATED
            # A value that is written otherwise than its kind is one of an unknown field.
            fits = kind >= 0 and _writing(kind) == writing
            if fits:
                for i in range(load(fields, FIELD * field + 4), load(fields, FIELD * field + 5)):
                    store(present, load(lists, i) * rows + row, False)
            fits_column = fits and column >= 0
            cell = column * rows + row
            if writing == _VARINT:
                p, value = _varint(buffer, p, end)
                if p >= 0 and fits_column:
                    store(words, cell, _integer(kind, value))
                    store(present, cell, True)
            elif writing == _FOUR_BYTES or writing == _EIGHT_BYTES:
                size = 4 if writing == _FOUR_BYTES else 8
                if size > end - p:
                    p = ENDED
                else:
                    if fits_column:
                        if writing == _EIGHT_BYTES:
                            store(words, cell, np.int64(load_word(buffer, p)))
                        elif kind == FLOAT:
                            store(floats, cell, _float_of_bits(_four_bytes(buffer, p)))
                        else:
                            store(words, cell, _integer(kind, _four_bytes(buffer, p)))
                        store(present, cell, True)
                    p += size
            elif writing == _SIZED:
                p, size = _varint(buffer, p, end)
                if p >= 0 and not 0 <= size <= end - p:
                    p = BAD_SIZE
                if p >= 0:
                    if fits and kind == MESSAGE:
                        if depth == DEPTH:
                            p = TOO_DEEP
                        else:
                            store(stack, FRAME * depth, end)
                            store(stack, FRAME * depth + 1, node)
                            depth += 1
                            node = load(fields, FIELD * field + 3)
                            end = p + size
                            field = -1
                            _set_defaults(nodes, node, lists, rows, row, words, stops, present)
                            continue
                    elif fits and kind == STRING and not is_text(buffer, p, p + size):
                        p = NOT_UTF8
                    elif is_repeated and kind < STRING:
                        p = _check_packed(buffer, p, p + size, kind)
                    else:
                        if fits_column:
                            store(words, cell, p)
                            store(stops, cell, p + size)
                            store(present, cell, True)
                        p += size
            else:
                p = GROUP if writing == _OPEN_GROUP else BAD_TAG
            if p < 0:
                break
        outcomes[row] = p if p < 0 else FINE
        places[row] = field


@kernel
def message_indexes(buffer, starts, ends, sizes, indexes):
    """The numbers in front of each record that say which message of a schema it is.

    sizes[i] is how many bytes they take, indexes[i] those bytes as one number; BAD_INDEXES if they
    are no such numbers, or more than fit.
    """
    for i in range(starts.size):
        p, count = _varint(buffer, starts[i], ends[i])
        if count & 1:  # less than nothing
            p = BAD_INDEXES
        count >>= 1
        while p >= 0 and count > 0 and p - starts[i] <= _MOST_INDEXES:
            p, _ = _varint(buffer, p, ends[i])
            count -= 1
        size = p - starts[i]
        if p < 0 or count != 0 or size > _MOST_INDEXES:
            size = BAD_INDEXES
        sizes[i] = size
        word = np.uint64(0)
        for k in range(size):
            word |= np.uint64(load_byte(buffer, starts[i] + k)) << np.uint64(8 * k)
        indexes[i] = np.int64(word)
