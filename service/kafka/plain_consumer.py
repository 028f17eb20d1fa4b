"""Fetching with confluent-kafka's own consumer: for settings that are not ours to carry out, and
for what is unusual. Tests compare the direct way with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from confluent_kafka import Consumer, Message, TopicPartition

from sde.decoding import Messages, Pieces
from sde.decoding.headers import packed_headers
from service.kafka.access import REFUSALS
from service.kafka.chunk import ChunkShape
from service.kafka.config import KafkaSettings, consumer_config
from service.kafka.cursor import Cursor
from service.kafka.last_error import LastError

_BATCH = 10_000
_WAIT_SECONDS = 0.1


class PlainConsumer:
    """One consumer, assigned to one range at a time."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._last = LastError()
        config: dict[str, Any] = {**consumer_config(settings), "error_cb": self._last}
        self._consumer = Consumer(config)

    def read(self, cursor: Cursor, shape: ChunkShape) -> Iterator[Messages]:
        self._last.error = None
        self._assign(cursor)
        taken: list[Message] = []
        size = 0
        try:
            while not cursor.done:
                for message in self._take(cursor):
                    error, offset = message.error(), message.offset()
                    if error is not None or offset is None:  # an error may come without one
                        assert error is not None
                        if cursor.on_error(error.code(), error.str(), offset or 0):
                            self._assign(cursor)
                            break
                        continue
                    if offset >= cursor.end:
                        cursor.advance(cursor.end)
                        break
                    length = _size(message, shape)
                    is_full = size + length > shape.max_bytes or len(taken) == shape.max_messages
                    if taken and is_full:
                        yield _pack(cursor, taken, shape)
                        cursor.refresh()
                        taken, size = [], 0
                    taken.append(message)
                    size += length
                    cursor.advance(offset + 1)
            if taken:
                yield _pack(cursor, taken, shape)
        finally:
            self._consumer.unassign()

    def close(self) -> None:
        self._consumer.close()

    def _take(self, cursor: Cursor) -> list[Message]:
        """Wait for one message, then take those that are there: a `consume` of many messages
        would wait until it has all of them."""
        first: list[Message] = self._consumer.consume(1, _WAIT_SECONDS)
        if not first:
            error = self._last.error
            if error is not None and error.code() in REFUSALS:
                cursor.refuse(error.str())  # librdkafka would go on for ever
            cursor.check_patience()
            return []
        return first + self._consumer.consume(min(_BATCH, cursor.end - cursor.next), 0)

    def _assign(self, cursor: Cursor) -> None:
        self._consumer.assign([TopicPartition(cursor.topic, cursor.partition, cursor.next)])


def _size(message: Message, shape: ChunkShape) -> int:
    size = len(message.value() or b"") + 1
    if shape.keys:
        size += len(message.key() or b"")
    if shape.headers:
        size += len(_headers(message))
    return size


def _headers(message: Message) -> bytes:
    try:
        headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    except UnicodeDecodeError:  # a name that confluent-kafka cannot make a text of
        headers = []
    return packed_headers(headers)


def _pack(cursor: Cursor, taken: list[Message], shape: ChunkShape) -> Messages:
    payloads = [message.value() or b"" for message in taken]
    ends = np.cumsum([len(payload) + 1 for payload in payloads], dtype=np.int64) - 1
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1])
    return Messages(
        cursor.topic,
        cursor.partition,
        np.frombuffer(bytearray(b"\n".join([*payloads, b""])), np.uint8),
        starts,
        ends,
        np.array([message.offset() for message in taken], np.int64),
        np.array([message.timestamp()[1] for message in taken], np.int64),
        Pieces.of([message.key() for message in taken]) if shape.keys else None,
        Pieces.of([_headers(message) for message in taken]) if shape.headers else None,
    )
