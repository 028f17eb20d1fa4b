"""Records as bytes: JSON that msgspec reads back into the types they were."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np


def plain(value: Any) -> Any:
    """What JSON has no form for: numpy's scalars and arrays, as plain numbers and lists."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")


_encoder = msgspec.json.Encoder(enc_hook=plain)


def encode(record: Any) -> bytes:
    return _encoder.encode(record)


def as_fact(record: Any) -> Any:
    """A record as it rests among the facts of a shard."""
    return msgspec.to_builtins(record, enc_hook=plain)
