"""Messages as a fetch from Kafka would bring them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sde.decoding import Messages, Pieces
from sde.decoding.headers import packed_headers

Payload = bytes | Mapping[str, Any]  # as it is, or to be written as JSON
TIME = 1_700_000_000_000  # when messages arrive if nothing else is said, ms


def messages(
    payloads: Sequence[Payload],
    topic: str = "data",
    partition: int = 0,
    offset: int = 0,
    time: int = TIME,
    keys: Sequence[bytes | None] | None = None,
    headers: Sequence[Iterable[tuple[str, bytes | None]]] | None = None,
) -> Messages:
    """Messages with consecutive offsets, which all arrived at `time`."""
    encoded = [p if isinstance(p, bytes) else json.dumps(p).encode() for p in payloads]
    lengths = np.array([len(payload) for payload in encoded], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths + 1)[:-1]]).astype(np.int64)
    return Messages(
        topic=topic,
        partition=partition,
        buffer=np.frombuffer(b"\n".join([*encoded, b""]), np.uint8),
        starts=starts,
        ends=starts + lengths,
        offsets=offset + np.arange(len(encoded)),
        timestamps=np.full(len(encoded), time, np.int64),
        keys=None if keys is None else Pieces.of(keys),
        headers=None if headers is None else Pieces.of([packed_headers(h) for h in headers]),
    )
