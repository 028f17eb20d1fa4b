"""HyperLogLog registers as bytes of Apache DataSketches, and back.

A sketch of HLL_8 with all registers: ten 4-byte words in front, then one byte per register.

    byte 0-7   words in front (10) | version (1) | family (7) | lg_k | 0 | flags | 0 | mode
    byte 8-31  three doubles: HIP accumulator, sum of 2^-r over r < 32, and over r >= 32
    byte 32-39 number of zero registers | 0
"""

from __future__ import annotations

import struct

import datasketches
import numpy as np
from numpy.typing import NDArray

from synopses.errors import StateError

_HEADER = struct.Struct("<8B3d2I")
_OUT_OF_ORDER = 16  # no HIP accumulator: estimate from the registers alone
_LIST, _SET, _HLL, _HLL_8 = 0, 1, 2, 2
_COUPON_SLOT_BITS = 26  # a coupon is a register's new value above its (untruncated) slot


def write(lg_k: int, registers: NDArray[np.uint8]) -> bytes:
    """The bytes of an HLL_8 sketch with these registers."""
    if not registers.any():
        empty = datasketches.hll_sketch(lg_k, datasketches.tgt_hll_type.HLL_8)
        return bytes(empty.serialize_compact())
    powers = np.ldexp(1.0, -registers.astype(np.int32))
    small = registers < 32
    mode = _HLL | _HLL_8 << 2
    head = _HEADER.pack(
        *(10, 1, 7, lg_k, 0, _OUT_OF_ORDER, 0, mode),
        *(0.0, float(powers[small].sum()), float(powers[~small].sum())),
        *(int(np.count_nonzero(registers == 0)), 0),
    )
    return head + registers.tobytes()


def read(data: bytes) -> tuple[int, NDArray[np.uint8]]:
    """lg_k and registers of a sketch of any type; StateError if it is none."""
    try:
        sketch = datasketches.hll_sketch.deserialize(bytes(data))
        lg_k = sketch.lg_config_k
        eight = datasketches.hll_union(lg_k)
        eight.update(sketch)
        image = bytes(eight.get_result(datasketches.tgt_hll_type.HLL_8).serialize_compact())
    except (ValueError, RuntimeError, IndexError, MemoryError) as error:
        raise StateError(f"these bytes are not an HLL sketch of DataSketches: {error}") from None
    mode = image[7] & 3
    if mode == _HLL:
        return lg_k, np.frombuffer(image, np.uint8, 2**lg_k, _HEADER.size).copy()
    coupons = np.frombuffer(image, np.uint32, offset=8 if mode == _LIST else 12)
    registers = np.zeros(2**lg_k, np.uint8)
    slots = coupons & np.uint32(2**lg_k - 1)
    np.maximum.at(registers, slots, (coupons >> np.uint32(_COUPON_SLOT_BITS)).astype(np.uint8))
    return lg_k, registers
