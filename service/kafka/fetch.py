"""All messages of one range of offsets, as arrays. Runs in Spark's Python workers, mostly.

There are three ways, each a consumer: direct (plain connections), bulk (librdkafka's batch call)
and plain (confluent-kafka's own consumer). They deliver the same messages.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from typing import TypedDict

from sde.decoding import Messages
from service.kafka import librdkafka
from service.kafka.bulk_consumer import BulkConsumer
from service.kafka.chunk import ChunkShape
from service.kafka.config import PATIENCE_SECONDS, KafkaSettings, identity, is_plain
from service.kafka.cursor import Cursor
from service.kafka.direct_consumer import DirectConsumer
from service.kafka.plain_consumer import PlainConsumer

MAX_BYTES = 32 << 20
MAX_MESSAGES = 250_000


class FetchOptions(TypedDict, total=False):
    """What may be fetched beside payloads."""

    keys: bool
    headers: bool


_Consumer = DirectConsumer | BulkConsumer | PlainConsumer
_Way = type[DirectConsumer] | type[BulkConsumer] | type[PlainConsumer]
# Consumers not in use, per process (a forked one must not use its parent's), way and settings.
# A connection and its metadata cost tens of milliseconds; a new assignment next to nothing.
_idle: dict[tuple[int, _Way, str], list[_Consumer]] = {}


def best_way(settings: KafkaSettings) -> _Way:
    """The fastest one that works with this broker and this installation."""
    if librdkafka.library() is None:
        return PlainConsumer
    return DirectConsumer if is_plain(settings) else BulkConsumer


def fetch(
    settings: KafkaSettings,
    topic: str,
    partition: int,
    start: int,
    end: int,
    *,
    max_bytes: int = MAX_BYTES,
    max_messages: int = MAX_MESSAGES,
    keys: bool = False,
    headers: bool = False,
    patience: float = PATIENCE_SECONDS,
    way: _Way | None = None,
) -> Iterator[Messages]:
    """The committed messages with start <= offset < end, in order, in chunks.

    A chunk has at most `max_bytes` and `max_messages`, unless one message alone has more; with
    `keys` and `headers` it has those, too. `end`
    must not lie beyond the last stable offset. Offsets without a message (control records, aborted
    transactions, compaction) are passed over. While the broker is away the fetch waits, for
    `patience` seconds without progress; then, and for everything else that keeps a message
    from being delivered, it raises a KafkaFailure.
    """
    cursor = Cursor(settings, topic, partition, start, end, patience)
    if cursor.done:
        return
    way = way or best_way(settings)
    idle = _idle.setdefault((os.getpid(), way, identity(settings)), [])
    # Taken out while in use: two fetches that run in turns never share an assignment.
    consumer = idle.pop() if idle else way(settings)
    try:
        yield from consumer.read(cursor, ChunkShape(max_bytes, max_messages, keys, headers))
    except Exception:
        consumer.close()
        raise
    except GeneratorExit:
        idle.append(consumer)
        raise
    idle.append(consumer)


@atexit.register
def close_idle() -> None:
    """Close this process's consumers: librdkafka's threads have to end before the interpreter."""
    for (process, *_), consumers in _idle.items():
        while process == os.getpid() and consumers:
            consumers.pop().close()
