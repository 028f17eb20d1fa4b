"""Reads Avro records by a program that `sde.decoding.avro_program` makes of their schema.

An instruction is four words: what to do, and three numbers about it. Most read one value, in the
order in which the values stand in a record, into a cell of a column (-1: no column, the value is
only checked). A record that is not what the schema says is refused: `outcomes` says why, `places`
at which instruction. Nothing is read beyond the end of a record, and no loop runs because a number
says so: elements of arrays and records that are called are counted, and a record has few that take
no byte.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sde.kernels.compiling import kernel, load, load_byte, load_word, store
from sde.kernels.utf8 import is_text

# Instructions, and what their three numbers are.
END = 0
INT, LONG = 1, 2  # column, factor, divisor: milliseconds are made of days and microseconds
BOOLEAN, FLOAT, DOUBLE = 3, 4, 5  # column
TEXT, BYTES = 6, 7  # column
FIXED = 8  # column, size
ENUM = 9  # column, number of symbols
UNION = 10  # number of branches, where in `targets` their instructions are
JUMP = 11  # instruction
CALL, RETURN = 12, 13  # instruction
LOOP = 14  # where in `targets` the bodies are, number of bodies - 1, instruction behind the loop
NEXT = 15  # at the end of a body: the next element, which has the last body if it has none
WIDTH = 4

# Outcomes.
FINE, ENDED, LONG_NUMBER, NOT_INT, BAD_SIZE, NOT_UTF8 = 0, -1, -2, -3, -4, -5
BAD_BOOLEAN, BAD_SYMBOL, BAD_BRANCH, TOO_DEEP, TOO_MANY, TRAILING = -6, -7, -8, -9, -10, -11

DEPTH = 64  # loops and calls inside each other
FRAME = 5  # words that one of them keeps
PARTS_WITHOUT_BYTES = 1000  # elements and called records; of the others each byte is in DEPTH


@njit(inline="always")
def _varint(buffer, p, end):
    """(place behind it, value) of a zigzag number; the place is an outcome if there is none."""
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
    return p, np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1))


@intrinsic
def _float_of_bits(typing, bits):
    """The float32 with these 32 bits, as float64."""

    def generate(context, builder, signature, args):
        single = builder.bitcast(builder.trunc(args[0], ir.IntType(32)), ir.FloatType())
        return builder.fpext(single, ir.DoubleType())

    return types.float64(types.int64), generate


@njit(inline="always")
def _float(buffer, p):
    """A little-endian float32."""
    bits = 0
    for i in range(4):
        bits |= load_byte(buffer, p + i) << (8 * i)
    return _float_of_bits(bits)


@kernel
def read_records(
    buffer, starts, ends, program, targets, stack,
    words, floats, stops, present, outcomes, places,
):  # fmt: skip
    """Record i, buffer[starts[i]:ends[i]], into the cells [column, i].

    `words` gets integers, 0 and 1 for truth values, a symbol's number, and where texts and bytes
    start; `stops` where those end; `floats` is `words` as float64. What is `present` has a value:
    not null, and finite. `stack` has room for DEPTH frames.
    """
    rows = starts.size
    for row in range(rows):
        p = starts[row]
        end = ends[row]
        parts = DEPTH * (end - p) + PARTS_WITHOUT_BYTES
        depth = 0
        pc = 0
        while p >= 0:
            at = WIDTH * pc
            op = load(program, at)
            first = load(program, at + 1)
            cell = first * rows + row
            if op <= LONG:
                if op == END:
                    if p != end:
                        p = TRAILING
                    break
                p, value = _varint(buffer, p, end)
                if op == INT and p >= 0 and not -(2**31) <= value < 2**31:
                    p = NOT_INT
                if p >= 0 and first >= 0:
                    divisor = load(program, at + 3)
                    value *= load(program, at + 2)
                    store(words, cell, value if divisor == 1 else value // divisor)
                    store(present, cell, True)
            elif op == TEXT or op == BYTES:
                p, size = _varint(buffer, p, end)
                if p >= 0 and not 0 <= size <= end - p:
                    p = BAD_SIZE
                if p >= 0:
                    if op == TEXT and not is_text(buffer, p, p + size):
                        p = NOT_UTF8
                    else:
                        if first >= 0:
                            store(words, cell, p)
                            store(stops, cell, p + size)
                            store(present, cell, True)
                        p += size
            elif op == DOUBLE or op == FLOAT:
                size = 8 if op == DOUBLE else 4
                if size > end - p:
                    p = ENDED
                else:
                    if first >= 0:
                        if op == DOUBLE:
                            store(words, cell, np.int64(load_word(buffer, p)))
                        else:
                            store(floats, cell, _float(buffer, p))
                        if np.isfinite(load(floats, cell)):
                            store(present, cell, True)
                    p += size
            elif op == UNION:
                p, branch = _varint(buffer, p, end)
                if p >= 0:
                    if 0 <= branch < first:
                        pc = load(targets, load(program, at + 2) + branch)
                        continue
                    p = BAD_BRANCH
            elif op == JUMP:
                pc = first
                continue
            elif op == BOOLEAN:
                if p >= end:
                    p = ENDED
                elif load_byte(buffer, p) > 1:
                    p = BAD_BOOLEAN
                else:
                    if first >= 0:
                        store(words, cell, load_byte(buffer, p))
                        store(present, cell, True)
                    p += 1
            elif op == ENUM:
                p, value = _varint(buffer, p, end)
                if p >= 0 and not 0 <= value < load(program, at + 2):
                    p = BAD_SYMBOL
                if p >= 0 and first >= 0:
                    store(words, cell, value)
                    store(present, cell, True)
            elif op == FIXED:
                size = load(program, at + 2)
                if size > end - p:
                    p = ENDED
                else:
                    if first >= 0:
                        store(words, cell, p)
                        store(stops, cell, p + size)
                        store(present, cell, True)
                    p += size
            elif op == CALL:
                if depth == DEPTH:
                    p = TOO_DEEP
                elif parts == 0:
                    p = TOO_MANY
                else:
                    parts -= 1
                    store(stack, FRAME * depth, pc + 1)
                    depth += 1
                    pc = first
                    continue
            elif op == RETURN:
                depth -= 1
                pc = load(stack, FRAME * depth)
                continue
            else:
                if op == LOOP:
                    if depth == DEPTH:
                        p = TOO_DEEP
                    else:
                        for i in range(3):
                            store(stack, FRAME * depth + i, load(program, at + 1 + i))
                        store(stack, FRAME * depth + 3, 0)  # elements left of the block
                        store(stack, FRAME * depth + 4, 0)  # elements before
                        depth += 1
                frame = FRAME * (depth - 1)
                if p >= 0 and load(stack, frame + 3) == 0:
                    p, count = _varint(buffer, p, end)
                    if p >= 0 and count < 0:
                        # A block that says how many bytes it has, for those who skip it.
                        p, size = _varint(buffer, p, end)
                        count = -count
                        if p >= 0 and size < 0:
                            p = BAD_SIZE
                    if p >= 0 and not 0 <= count <= parts:
                        p = TOO_MANY
                    if p >= 0:
                        if count == 0:
                            depth -= 1
                            pc = load(stack, frame + 2)
                            continue
                        parts -= count
                        store(stack, frame + 3, count)
                if p >= 0:
                    element = load(stack, frame + 4)
                    body = min(element, load(stack, frame + 1))
                    store(stack, frame + 3, load(stack, frame + 3) - 1)
                    store(stack, frame + 4, element + 1)
                    pc = load(targets, load(stack, frame) + body)
                    continue
            if p >= 0:
                pc += 1
        outcomes[row] = p if p < 0 else FINE
        places[row] = pc


@kernel
def unscaled(buffer, starts, ends, present, out, large):
    """out[i]: the big-endian integer buffer[starts[i]:ends[i]]; how many do not fit 64 bits.

    The places of those go to `large`.
    """
    count = 0
    for i in range(starts.size):
        if not present[i]:
            out[i] = 0
        elif ends[i] - starts[i] > 8:
            large[count] = i
            count += 1
        else:
            value = 0
            if starts[i] < ends[i] and buffer[starts[i]] >= 0x80:
                value = -1
            for p in range(starts[i], ends[i]):
                value = (value << 8) | np.int64(buffer[p])
            out[i] = value
    return count
