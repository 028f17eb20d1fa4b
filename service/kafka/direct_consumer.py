"""Fetching without librdkafka in between: record batches from the broker, and one compiled loop.

librdkafka makes an object of every message, which is most of what a fetch of small messages costs.
Here a response becomes arrays at once, and the next one is requested before that. It works with
connections without TLS and SASL. After anything else (no leader, an error, an unknown format) the
bulk consumer reads the rest of the range: it can wait and knows what each error means.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np
from confluent_kafka import KafkaException

from sde.decoding import Messages
from service.kafka import record_batches as kernel
from service.kafka.broker_connection import BrokerConnection, Response, UnusualAnswer
from service.kafka.bulk_consumer import BulkConsumer
from service.kafka.chunk import Chunk, ChunkShape
from service.kafka.config import KafkaSettings
from service.kafka.cursor import Cursor
from service.kafka.inflating import inflated
from service.kafka.logs import admin

_log = logging.getLogger(__name__)
_METADATA_SECONDS = 5.0
_LEFT_ALONE = 50  # ranges of a partition that the bulk consumer gets after an unusual answer


class DirectConsumer:
    """Connections to leaders of partitions, used for one range at a time."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._connections: dict[tuple[str, int], BrokerConnection] = {}
        self._left_alone: dict[tuple[str, int], int] = {}
        self._bulk: BulkConsumer | None = None

    def read(self, cursor: Cursor, shape: ChunkShape) -> Iterator[Messages]:
        if not self._is_left_alone(cursor):
            yield from self._read(cursor, shape)
        if not cursor.done:
            self._bulk = self._bulk or BulkConsumer(self._settings)
            yield from self._bulk.read(cursor, shape)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        if self._bulk is not None:
            self._bulk.close()

    def _is_left_alone(self, cursor: Cursor) -> bool:
        key = (cursor.topic, cursor.partition)
        left = self._left_alone.get(key, 0)
        self._left_alone[key] = max(0, left - 1)
        return left > 0

    def _read(self, cursor: Cursor, shape: ChunkShape) -> Iterator[Messages]:
        """The messages of the range up to the first answer that only the bulk consumer can read."""
        chunk = Chunk(cursor, shape)
        try:
            for answer in self._responses(cursor):
                response = inflated(answer, cursor.end)
                at, aborting = response.start, np.zeros(len(response.aborted), np.int64)
                reason = kernel.CHUNK_FULL
                while reason == kernel.CHUNK_FULL:
                    reason, at = _unpack(response, at, aborting, cursor, chunk)
                    if reason == kernel.CHUNK_FULL and not chunk.filled:
                        chunk.make_room(response.end - at)
                    elif reason == kernel.CHUNK_FULL:
                        yield chunk.messages()
                        cursor.refresh()
                        chunk = Chunk(cursor, shape)
                if reason == kernel.UNUSUAL:
                    raise UnusualAnswer("batches of an old format, or damaged")
        except UnusualAnswer as unusual:
            key = (cursor.topic, cursor.partition)
            _log.info("topic %s, partition %d: %s", *key, unusual)
            self._left_alone[key] = _LEFT_ALONE
        except (OSError, KafkaException) as error:
            _log.info("topic %s, partition %d: %s", cursor.topic, cursor.partition, error)
        if chunk.filled:
            yield chunk.messages()
            cursor.refresh()

    def _responses(self, cursor: Cursor) -> Iterator[Response]:
        """The broker's answers. Each must be unpacked before the next one is taken."""
        key = (cursor.topic, cursor.partition)
        if key not in self._connections:
            self._connections[key] = BrokerConnection(*self._leader(*key))
        connection = self._connections[key]
        try:
            connection.ask(*key, cursor.next)
            while not cursor.done:
                response = connection.answer()
                following = kernel.following_offset(
                    response.source, response.start, response.end, cursor.next
                )
                if following == cursor.next:
                    raise UnusualAnswer(f"nothing came from offset {following} on")
                if following < cursor.end:
                    connection.ask(*key, following)
                yield response
        finally:
            # An answer still to come must not be taken for that to a later request.
            if connection.waiting or not cursor.done:
                self._connections.pop(key).close()

    def _leader(self, topic: str, partition: int) -> tuple[str, int]:
        known = admin(self._settings).list_topics(topic, timeout=_METADATA_SECONDS)
        found = known.topics[topic].partitions.get(partition)
        broker = known.brokers.get(found.leader) if found is not None else None
        if broker is None:
            raise UnusualAnswer("it has no leader")
        return str(broker.host), broker.port


def _unpack(
    response: Response,
    at: int,
    aborting: np.ndarray,
    cursor: Cursor,
    chunk: Chunk,
) -> tuple[int, int]:
    """(reason why the kernel stopped, position in the response to go on from)"""
    reason, at, chunk.used, chunk.filled, reached, chunk.extra_used = kernel.unpack(
        response.source,
        at,
        response.end,
        response.aborted,
        aborting,
        cursor.next,
        cursor.end,
        *chunk.state(),
        *chunk.extra_state(),
    )
    cursor.advance(reached)
    return reason, at
