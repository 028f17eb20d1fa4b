"""Checksums of record batches (CRC-32C): whether a batch is what its producer sent.

A processor with an instruction for it is three times as fast with three sums at once, which are
put together by tables: the sum of bytes with zeros behind them is that of each of its own four
bytes with zeros behind it. Without the instruction eight tables take its place.
"""

# mypy: ignore-errors

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from sde.kernels.compiling import kernel_of, load_byte, load_word

_POLYNOMIAL = 0x82F63B78
_LANE = 512  # bytes of each of three sums
_ALL = np.uint64(0xFFFFFFFF)
_BYTE = np.uint64(0xFF)

# Where a field lies in a batch; its length counts what is behind itself.
_LENGTH, _CRC, _SUMMED, _HEADER_SIZE, _BEFORE_BATCH = 8, 17, 21, 61, 12


def _with_zeros(sums, count, one_byte):
    """Sums of the same bytes with so many zeros behind them."""
    for _ in range(count):
        sums = one_byte[sums & 0xFF] ^ (sums >> np.uint32(8))
    return sums


def _of_one_byte():
    sums = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        sums = np.where(sums & 1, (sums >> np.uint32(1)) ^ np.uint32(_POLYNOMIAL), sums >> 1)
    return sums.astype(np.uint32)


_ONE_BYTE = _of_one_byte()
# _WORD[i][b]: byte b at place i of eight; _LANE_OF[i][b]: byte b of a sum, with a lane behind it.
_WORD = np.stack([_with_zeros(_ONE_BYTE, 7 - i, _ONE_BYTE) for i in range(8)])
_PLACES = np.arange(256, dtype=np.uint32) << np.arange(0, 32, 8, dtype=np.uint32)[:, None]
_LANE_OF = _with_zeros(_PLACES, _LANE, _ONE_BYTE)


@intrinsic
def _instruction(typing, crc, word):
    def generate(context, builder, signature, args):
        kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64)] * 2)
        name = "llvm.x86.sse42.crc32.64.64"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    return types.uint64(types.uint64, types.uint64), generate


@njit(inline="always")
def by_instruction(crc, word):
    return _instruction(crc, word)


@njit(inline="always")
def by_tables(crc, word):
    word ^= crc
    crc = np.uint64(0)
    for i in range(8):
        crc ^= np.uint64(_WORD[i, np.int64((word >> np.uint64(8 * i)) & _BYTE)])
    return crc


_add_word = by_instruction if binding.get_host_cpu_features().get("sse4.2") else by_tables


@njit(inline="always")
def _lane_behind(crc):
    shifted = np.uint64(0)
    for i in range(4):
        shifted ^= np.uint64(_LANE_OF[i, np.int64((crc >> np.uint64(8 * i)) & _BYTE)])
    return shifted


@kernel_of("uint64(uint8[::1], int64, int64)")
def crc32c(buffer, p, end):
    """The checksum of buffer[p:end]."""
    crc = _ALL
    while end - p >= 3 * _LANE:
        first, second, third = crc, np.uint64(0), np.uint64(0)
        for at in range(p, p + _LANE, 8):
            first = _add_word(first, load_word(buffer, at))
            second = _add_word(second, load_word(buffer, at + _LANE))
            third = _add_word(third, load_word(buffer, at + 2 * _LANE))
        crc = _lane_behind(_lane_behind(first) ^ second) ^ third
        p += 3 * _LANE
    while end - p >= 8:
        crc = _add_word(crc, load_word(buffer, p))
        p += 8
    while p < end:
        byte = np.uint64(load_byte(buffer, p))
        crc = np.uint64(_ONE_BYTE[np.int64((crc ^ byte) & _BYTE)]) ^ (crc >> np.uint64(8))
        p += 1
    return crc ^ _ALL


@njit(inline="always")
def _number(buffer, p, size):
    """An unsigned big-endian integer."""
    value = np.int64(0)
    for i in range(size):
        value = (value << 8) | load_byte(buffer, p + i)
    return value


@kernel_of("int64(uint8[::1], int64, int64, int64)")
def damaged_batch(buffer, p, end, end_offset):
    """Where the first whole batch whose checksum is wrong begins, of those before an offset.

    -1 if there is none. A batch that is not whole, or cannot be, ends the search: who reads the
    records judges it.
    """
    while p + _HEADER_SIZE <= end and _number(buffer, p, 8) < end_offset:
        size = _BEFORE_BATCH + _number(buffer, p + _LENGTH, 4)
        if size < _HEADER_SIZE or size > end - p:
            break
        if crc32c(buffer, p + _SUMMED, p + size) != np.uint64(_number(buffer, p + _CRC, 4)):
            return p
        p += size
    return -1
