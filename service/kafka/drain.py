"""The loop over fetched messages: copies payloads out of librdkafka into one buffer.

Functions of librdkafka come in as plain addresses and are called through them, so the compiled
kernel holds no address of one process and can be cached on disk. Self-contained: numba's cache
does not notice an edit in another file.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

# Why the loop stopped.
BATCH_DONE, CHUNK_FULL, ERROR, RANGE_DONE = 0, 1, 2, 3

# Where a field lies in rd_kafka_message_t, in 8-byte words of a 64-bit machine.
_ERR, _PARTITION, _PAYLOAD, _LENGTH, _OFFSET = 0, 2, 3, 4, 7
_NEWLINE = 10


@intrinsic
def _word(typing: Any, address: Any, index: Any) -> Any:
    """The 64-bit word at address + 8 * index."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(pointer, [args[1]]))

    return types.int64(types.uint64, types.int64), generate


@intrinsic
def _copy(typing: Any, target: Any, source: Any, count: Any) -> Any:
    """memcpy."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        to, source = builder.inttoptr(args[0], byte), builder.inttoptr(args[1], byte)
        cgutils.raw_memcpy(builder, to, source, args[2], 1)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.int64), generate


@intrinsic
def _call_destroy(typing: Any, function: Any, message: Any) -> Any:
    """void rd_kafka_message_destroy(rd_kafka_message_t *)"""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [args[1]])
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


@intrinsic
def _call_timestamp(typing: Any, function: Any, message: Any) -> Any:
    """int64_t rd_kafka_message_timestamp(const rd_kafka_message_t *, tstype = NULL)"""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64), ir.IntType(64)])
        pointer = builder.inttoptr(args[0], kind.as_pointer())
        return builder.call(pointer, [args[1], ir.Constant(ir.IntType(64), 0)])

    return types.int64(types.uint64, types.uint64), generate


@nb.njit(
    "UniTuple(int64, 5)(uint64[::1], int64, int64, int32, int64, int64, uint8[::1], int64,"
    " int64[::1], int64[::1], int64[::1], int64[::1], int64, uint64, uint64)",
    cache=True,
    nogil=True,
)
def drain(
    pointers: Any,
    first: int,
    count: int,
    partition: int,
    next_offset: int,
    end_offset: int,
    buffer: Any,
    used: int,
    starts: Any,
    ends: Any,
    offsets: Any,
    timestamps: Any,
    filled: int,
    timestamp_function: int,
    destroy_function: int,
) -> tuple[int, int, int, int, int]:
    """Moves messages pointers[first:count] into the chunk until something stops it.

    Every message passed over is destroyed. An error is left for the caller to look at. Returns
    (reason, index of the first message not taken, bytes used, rows filled, next offset).
    """
    base = np.uint64(buffer.ctypes.data)
    for i in range(first, count):
        message = pointers[i]
        if _word(message, _ERR) & 0xFFFFFFFF:
            return ERROR, i, used, filled, next_offset
        offset = _word(message, _OFFSET)
        if offset >= end_offset:
            return RANGE_DONE, i, used, filled, end_offset
        if offset >= next_offset and _word(message, _PARTITION) & 0xFFFFFFFF == partition:
            length = _word(message, _LENGTH)
            if filled == starts.size or used + length + 1 > buffer.size:
                return CHUNK_FULL, i, used, filled, next_offset
            if length:
                _copy(base + np.uint64(used), np.uint64(_word(message, _PAYLOAD)), length)
            starts[filled] = used
            ends[filled] = used + length
            buffer[used + length] = _NEWLINE
            offsets[filled] = offset
            timestamps[filled] = _call_timestamp(timestamp_function, message)
            used += length + 1
            filled += 1
            next_offset = offset + 1
        _call_destroy(destroy_function, message)
    reason = RANGE_DONE if next_offset >= end_offset else BATCH_DONE
    return reason, count, used, filled, next_offset
