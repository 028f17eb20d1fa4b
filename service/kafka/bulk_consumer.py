"""Fetching in bulk: librdkafka's batch call and one compiled loop, no Python object per message."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np

from sde.decoding import Messages
from service.kafka import drain as kernel
from service.kafka.chunk import Chunk, ChunkShape
from service.kafka.config import KafkaSettings, consumer_config
from service.kafka.cursor import Cursor
from service.kafka.librdkafka import Consumer, Message, address, library

_BATCH = 1 << 16
_WAIT_MS = 100


class BulkConsumer:
    """One consumer, assigned to one range at a time."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._consumer = Consumer(consumer_config(settings))
        self._pointers = np.zeros(_BATCH, np.uint64)
        self._first = self._count = 0  # messages taken from librdkafka, not yet drained
        self._timestamp = address(library().rd_kafka_message_timestamp)
        self._destroy = address(library().rd_kafka_message_destroy)

    def read(self, cursor: Cursor, shape: ChunkShape) -> Iterator[Messages]:
        self._consumer.assign(cursor.topic, cursor.partition, cursor.next)
        try:
            while not cursor.done:
                chunk = self._chunk(cursor, shape)
                if chunk.filled:
                    yield chunk.messages()
                    cursor.refresh()
        finally:
            self._drop_taken()
            self._consumer.unassign()

    def close(self) -> None:
        self._consumer.close()

    def _chunk(self, cursor: Cursor, shape: ChunkShape) -> Chunk:
        """The next chunk: full, or the rest of the range."""
        chunk = Chunk(cursor, shape)
        while not cursor.done:
            if self._first == self._count:
                self._take(cursor)
            reason, self._first, chunk.used, chunk.filled, reached = kernel.drain(
                self._pointers,
                self._first,
                self._count,
                cursor.partition,
                cursor.next,
                cursor.end,
                *chunk.state(),
                self._timestamp,
                self._destroy,
            )
            cursor.advance(reached)
            if reason == kernel.CHUNK_FULL:
                if chunk.filled:
                    break
                chunk.make_room(self._waiting_message().length)
            elif reason == kernel.ERROR:
                self._on_error(cursor)
        return chunk

    def _take(self, cursor: Cursor) -> None:
        """Wait for one message, then take those that are there: a call for many messages would
        wait until it has all of them."""
        where = self._pointers.ctypes.data
        self._first = 0
        self._count = self._consumer.consume(_WAIT_MS, where, 1)
        if self._count == 0:
            cursor.check_patience()
            return
        at_most = min(_BATCH - 1, cursor.end - cursor.next)
        self._count += self._consumer.consume(0, where + self._pointers.itemsize, at_most)

    def _waiting_message(self) -> Message:
        return Message.from_address(int(self._pointers[self._first]))

    def _on_error(self, cursor: Cursor) -> None:
        message = self._waiting_message()
        code, offset = message.err, message.offset
        reason = ctypes.string_at(message.payload, message.length) if message.payload else b""
        library().rd_kafka_message_destroy(int(self._pointers[self._first]))
        self._first += 1
        text = reason.decode(errors="replace") or library().rd_kafka_err2str(code).decode()
        if cursor.on_error(code, text, offset):
            self._drop_taken()
            self._consumer.assign(cursor.topic, cursor.partition, cursor.next)

    def _drop_taken(self) -> None:
        for pointer in self._pointers[self._first : self._count]:
            library().rd_kafka_message_destroy(int(pointer))
        self._first = self._count = 0
