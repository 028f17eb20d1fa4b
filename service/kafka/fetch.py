"""All messages of one range of offsets, as arrays. Runs in Spark's Python workers, mostly.

There are two ways, each a consumer: direct (connections of our own) and plain (confluent-kafka's
consumer), for brokers that want what only librdkafka can do. They deliver the same messages.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from typing import TypedDict

from sde.decoding import Messages
from service.kafka.chunk import ChunkShape
from service.kafka.config import PATIENCE_SECONDS, KafkaSettings, identity
from service.kafka.cursor import Cursor
from service.kafka.direct_consumer import DirectConsumer
from service.kafka.plain_consumer import PlainConsumer
from service.kafka.security import is_ours

MAX_BYTES = 32 << 20
MAX_MESSAGES = 250_000


class FetchOptions(TypedDict, total=False):
    """What may be fetched beside payloads."""

    keys: bool
    headers: bool


_Consumer = DirectConsumer | PlainConsumer
Way = type[DirectConsumer] | type[PlainConsumer]
# Consumers not in use, per process (a forked one must not use its parent's), way and settings.
# A connection and its metadata cost tens of milliseconds; a new assignment next to nothing.
_idle: dict[tuple[int, Way, str], list[_Consumer]] = {}


def best_way(settings: KafkaSettings) -> Way:
    """The fastest one that these settings allow."""
    return DirectConsumer if is_ours(settings) else PlainConsumer


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
    way: Way | None = None,
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
