"""Fetching without librdkafka in between: record batches from the broker, and one compiled loop.

librdkafka makes an object of every message, which is most of what a fetch of small messages costs.
Here a response becomes arrays at once, and the next one is requested before that. A broker that is
away is waited for. After anything unusual (an old format, a gap that compaction left) the plain
consumer reads the rest of the range.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator

import numpy as np
from confluent_kafka import KafkaError, KafkaException

from sde.decoding import Messages
from service.kafka import record_batches as kernel
from service.kafka.access import check_access
from service.kafka.admins import admin
from service.kafka.broker_connection import BrokerConnection, Response
from service.kafka.broker_socket import UnusualAnswer
from service.kafka.checksums import damaged_batch
from service.kafka.chunk import Chunk, ChunkShape
from service.kafka.config import KafkaSettings
from service.kafka.cursor import Cursor
from service.kafka.errors import BatchDamaged
from service.kafka.inflating import inflated
from service.kafka.plain_consumer import PlainConsumer
from service.kafka.security import security_of

_log = logging.getLogger(__name__)
_METADATA_SECONDS = 5.0
_LEFT_ALONE = 50  # ranges of a partition that the plain consumer gets after an unusual answer
_NO_ANSWER = {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN}

_Problem = UnusualAnswer | OSError | KafkaException | BatchDamaged


class DirectConsumer:
    """Connections to leaders of partitions, used for one range at a time."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings, self._security = settings, security_of(settings)
        self._connections: dict[tuple[str, int], BrokerConnection] = {}
        self._left_alone: dict[tuple[str, int], int] = {}
        self._plain: PlainConsumer | None = None

    def read(self, cursor: Cursor, shape: ChunkShape) -> Iterator[Messages]:
        damaged: BatchDamaged | None = None
        goes_on = not self._is_left_alone(cursor)
        while goes_on and not cursor.done:
            problem = yield from self._read(cursor, shape)
            if isinstance(problem, BatchDamaged):
                if damaged is not None and damaged.offset == problem.offset:
                    raise problem
                damaged = problem  # perhaps on its way only: it is fetched once more
            elif problem is not None:
                goes_on = self._goes_on(cursor, problem)
        if not cursor.done:
            self._plain = self._plain or PlainConsumer(self._settings)
            yield from self._plain.read(cursor, shape)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        if self._plain is not None:
            self._plain.close()

    def _is_left_alone(self, cursor: Cursor) -> bool:
        key = (cursor.topic, cursor.partition)
        left = self._left_alone.get(key, 0)
        self._left_alone[key] = max(0, left - 1)
        return left > 0

    def _goes_on(self, cursor: Cursor, problem: _Problem) -> bool:
        """Wait for what passes by itself; False if only librdkafka can read the rest."""
        if isinstance(problem, UnusualAnswer):
            key = (cursor.topic, cursor.partition)
            _log.info("topic %s, partition %d: %s", *key, problem)
            self._left_alone[key] = _LEFT_ALONE
            return False
        if isinstance(problem, KafkaException):
            error: KafkaError = problem.args[0]
            if error.code() in _NO_ANSWER:
                check_access(self._settings)
            cursor.on_error(error.code(), error.str(), cursor.next)
        else:
            cursor.on_error(KafkaError._TRANSPORT, str(problem), cursor.next)
        return True

    def _read(
        self, cursor: Cursor, shape: ChunkShape
    ) -> Generator[Messages, None, _Problem | None]:
        """The messages of the range up to the first answer that is of no use; returns why."""
        chunk = Chunk(cursor, shape)
        problem: _Problem | None = None
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
        except (UnusualAnswer, OSError, KafkaException, BatchDamaged) as error:
            problem = error
        if chunk.filled:
            yield chunk.messages()
            cursor.refresh()
        return problem

    def _responses(self, cursor: Cursor) -> Iterator[Response]:
        """The broker's answers. Each must be unpacked before the next one is taken."""
        key = (cursor.topic, cursor.partition)
        connection = self._connection(key)
        try:
            connection.ask(*key, cursor.next)
            while not cursor.done:
                response = connection.answer()
                following = kernel.following_offset(
                    response.source, response.start, response.end, cursor.next
                )
                if following == cursor.next and not response.throttled:
                    raise UnusualAnswer(f"nothing came from offset {following} on")
                cursor.check_patience()
                if following < cursor.end:
                    connection = self._connection(key)
                    connection.ask(*key, following)
                _check_sums(response, cursor)
                yield response
        finally:
            # An answer still to come must not be taken for that to a later request.
            if connection.waiting or not cursor.done:
                connection.close()
                self._connections.pop(key, None)

    def _connection(self, key: tuple[str, int]) -> BrokerConnection:
        """The one to the leader of the partition: the last one, or another if that is of no use.
        To be called when no answer is waited for."""
        connection = self._connections.get(key)
        if connection is None or not connection.is_usable:
            if connection is not None:
                self._connections.pop(key).close()
            connection = BrokerConnection(*self._leader(*key), self._security)
            self._connections[key] = connection
        return connection

    def _leader(self, topic: str, partition: int) -> tuple[str, int]:
        known = admin(self._settings).list_topics(topic, timeout=_METADATA_SECONDS)
        found = known.topics[topic].partitions.get(partition)
        broker = known.brokers.get(found.leader) if found is not None else None
        if broker is None:
            raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
        return str(broker.host), broker.port


def _check_sums(response: Response, cursor: Cursor) -> None:
    """BatchDamaged if a batch is not what its producer sent."""
    source = response.source
    at = damaged_batch(source, response.start, response.end, cursor.end)
    if at >= 0:
        offset = int.from_bytes(source[at : at + 8].tobytes(), signed=True)
        raise BatchDamaged(cursor.topic, cursor.partition, offset)


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
