"""The loop over record batches as a broker sends them: copies payloads into one buffer.

Knows Kafka's record format 2 without compression, as `service.kafka.inflating` leaves it; what else
it meets it leaves to its caller.
It does not trust what a broker sends: `sde.kernels.compiling` says how that is tested.
"""

# mypy: ignore-errors

import numpy as np
from numba import njit

from sde.kernels.compiling import copy_bytes, kernel_of, load_byte

# Why the loop stopped.
RESPONSE_DONE, CHUNK_FULL, UNUSUAL, RANGE_DONE = 0, 1, 2, 3
SLACK = 64  # bytes that may be looked at behind the end: a record's lengths, if they are wrong

# Where a field lies in the header of a batch.
_LENGTH, _MAGIC, _ATTRIBUTES, _LAST, _BASE_TIME, _MAX_TIME = 8, 16, 21, 23, 27, 35
_PRODUCER, _HEADER_SIZE = 43, 61
_COMPRESSION, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 7, 8, 16, 32
_BEFORE_BATCH = 12  # bytes that the length of a batch does not count
_NEWLINE = 10


@njit(inline="always")
def _integer(buffer, at, size):
    """A signed big-endian integer."""
    value = np.uint64(0)
    for i in range(size):
        value = (value << np.uint64(8)) | np.uint64(load_byte(buffer, at + i))
    unused = np.uint64(64 - 8 * size)
    return np.int64(value << unused) >> np.int64(unused)


@njit(inline="always")
def _varint(buffer, p):
    """(place after it, value) of a zigzag number; at most ten bytes are looked at."""
    byte = load_byte(buffer, p)
    p += 1
    value = np.uint64(byte & 0x7F)
    shift = np.uint64(7)
    while byte & 0x80 and shift < np.uint64(70):
        byte = load_byte(buffer, p)
        p += 1
        value |= np.uint64(byte & 0x7F) << shift
        shift += np.uint64(7)
    return p, np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1))


@kernel_of("int64(uint8[::1], int64, int64, int64)")
def following_offset(buffer, p, end, offset):
    """The offset behind the last whole batch; `offset` if there is none."""
    while p + _HEADER_SIZE <= end:
        size = _BEFORE_BATCH + _integer(buffer, p + _LENGTH, 4)
        if size < _HEADER_SIZE or p + size > end:
            break
        offset = max(offset, _integer(buffer, p, 8) + _integer(buffer, p + _LAST, 4) + 1)
        p += size
    return offset


@njit(inline="always")
def _keep(source, at, size, extra, used, spans, row):
    """Copies a key or headers; -1 for one that is null. Returns how much of `extra` is used."""
    if size < 0:
        spans[0, row] = spans[1, row] = -1
        return used
    copy_bytes(source, at, extra, used, size)
    spans[0, row] = used
    spans[1, row] = used + size
    return used + size


@kernel_of(
    "UniTuple(int64, 6)(uint8[::1], int64, int64, int64[:, ::1], int64[::1], int64, int64,"
    " uint8[::1], int64, int64[::1], int64[::1], int64[::1], int64[::1], int64,"
    " uint8[::1], int64, int64[:, ::1], int64[:, ::1])"
)
def unpack(
    source, p, end, aborted, aborting, next_offset, end_offset,
    buffer, used, starts, ends, offsets, timestamps, filled,
    extra, extra_used, keys, headers,
):  # fmt: skip
    """Moves messages of source[p:end] into the chunk until something stops it.

    `aborted` has a row (first offset, producer) for each aborted transaction, by offset, and
    aborting[i] says whether messages of the i-th are being passed over: 0 not yet, 1 now, 2 no
    more. `keys` and `headers` get starts and ends in `extra`; one of length 0 is not asked for.
    Returns (reason, the batch to go on with, bytes used, rows filled, next offset, bytes of `extra`
    used). The source goes on for SLACK bytes behind its end.
    """
    wants_keys, wants_headers = keys.shape[1] > 0, headers.shape[1] > 0
    while p + _HEADER_SIZE <= end:
        size = _BEFORE_BATCH + _integer(source, p + _LENGTH, 4)
        if size < _HEADER_SIZE:
            return UNUSUAL, p, used, filled, next_offset, extra_used
        if p + size > end:
            break
        attributes = _integer(source, p + _ATTRIBUTES, 2)
        if load_byte(source, p + _MAGIC) != 2 or attributes & _COMPRESSION:
            return UNUSUAL, p, used, filled, next_offset, extra_used
        base = _integer(source, p, 8)
        last = base + _integer(source, p + _LAST, 4)
        if base >= end_offset:
            return RANGE_DONE, p, used, filled, end_offset, extra_used
        record = p + _HEADER_SIZE
        batch_end = p + size
        is_aborted = False
        if attributes & _TRANSACTIONAL:
            producer = _integer(source, p + _PRODUCER, 8)
            for i in range(aborting.size):
                if aborted[i, 1] == producer and aborting[i] < 2 and aborted[i, 0] <= last:
                    aborting[i] = 1
                    is_aborted = True
                    if attributes & _CONTROL:
                        # The end of that transaction; a commit would not stand among them.
                        aborting[i] = 2
        if last >= next_offset and not (is_aborted or attributes & _CONTROL):
            base_time = _integer(source, p + _BASE_TIME, 8)
            while record < batch_end:
                at, length = _varint(source, record)
                if not 0 <= length <= batch_end - at:  # a sum could overflow
                    return UNUSUAL, p, used, filled, next_offset, extra_used
                record = at + length
                at, time = _varint(source, at + 1)
                at, delta = _varint(source, at)
                key_at, key = _varint(source, at)
                if key > record - key_at:
                    return UNUSUAL, p, used, filled, next_offset, extra_used
                at, value = _varint(source, key_at + max(key, 0))
                value = max(value, 0)
                if value > record - at:
                    return UNUSUAL, p, used, filled, next_offset, extra_used
                offset = base + delta
                if offset >= end_offset:
                    return RANGE_DONE, p, used, filled, end_offset, extra_used
                if offset < next_offset:
                    continue
                if filled == starts.size or used + value + 1 > buffer.size:
                    return CHUNK_FULL, p, used, filled, next_offset, extra_used
                if wants_keys or wants_headers:
                    behind = at + value
                    needed = max(key, 0) * wants_keys + (record - behind) * wants_headers
                    if extra_used + needed > extra.size:
                        return CHUNK_FULL, p, used, filled, next_offset, extra_used
                    if wants_keys:
                        extra_used = _keep(source, key_at, key, extra, extra_used, keys, filled)
                    if wants_headers:
                        size = record - behind
                        extra_used = _keep(source, behind, size, extra, extra_used, headers, filled)
                copy_bytes(source, at, buffer, used, value)
                starts[filled] = used
                ends[filled] = used + value
                buffer[used + value] = _NEWLINE
                offsets[filled] = offset
                timestamps[filled] = base_time + time
                if attributes & _APPEND_TIME:
                    timestamps[filled] = _integer(source, p + _MAX_TIME, 8)
                used += value + 1
                filled += 1
                next_offset = offset + 1
        next_offset = max(next_offset, last + 1)
        if next_offset >= end_offset:
            return RANGE_DONE, p, used, filled, end_offset, extra_used
        p = batch_end
    return RESPONSE_DONE, p, used, filled, next_offset, extra_used
