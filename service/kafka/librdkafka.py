"""The few functions of librdkafka that the bulk fetch calls, in the library the wheel brings."""

from __future__ import annotations

import ctypes
import functools
from ctypes import c_char_p, c_int, c_int32, c_int64, c_size_t, c_ssize_t, c_void_p
from typing import Any

from confluent_kafka import cimpl

from service.kafka.config import Config

CONSUMER = 1  # rd_kafka_type_t
_TEXT_BYTES = 512
_DESTROY_NO_CONSUMER_CLOSE = 0x8

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "rd_kafka_conf_new": (c_void_p, []),
    "rd_kafka_conf_set": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, c_size_t]),
    "rd_kafka_conf_destroy": (None, [c_void_p]),
    "rd_kafka_new": (c_void_p, [c_int, c_void_p, c_char_p, c_size_t]),
    "rd_kafka_destroy_flags": (None, [c_void_p, c_int]),
    "rd_kafka_poll_set_consumer": (c_int, [c_void_p]),
    "rd_kafka_queue_get_consumer": (c_void_p, [c_void_p]),
    "rd_kafka_queue_destroy": (None, [c_void_p]),
    "rd_kafka_topic_partition_list_new": (c_void_p, [c_int]),
    "rd_kafka_topic_partition_list_add": (c_void_p, [c_void_p, c_char_p, c_int32]),
    "rd_kafka_topic_partition_list_set_offset": (
        c_int,
        [c_void_p, c_char_p, c_int32, c_int64],
    ),
    "rd_kafka_topic_partition_list_destroy": (None, [c_void_p]),
    "rd_kafka_assign": (c_int, [c_void_p, c_void_p]),
    "rd_kafka_err2str": (c_char_p, [c_int]),
    "rd_kafka_consume_batch_queue": (c_ssize_t, [c_void_p, c_int, c_void_p, c_size_t]),
    "rd_kafka_message_timestamp": (c_int64, [c_void_p, c_void_p]),
    "rd_kafka_message_destroy": (None, [c_void_p]),
}


class Message(ctypes.Structure):
    """rd_kafka_message_t, part of librdkafka's stable binary interface."""

    _fields_ = (
        ("err", c_int),
        ("topic", c_void_p),
        ("partition", c_int32),
        ("payload", c_void_p),
        ("length", c_size_t),
        ("key", c_void_p),
        ("key_length", c_size_t),
        ("offset", c_int64),
        ("private", c_void_p),
    )


@functools.cache
def library() -> Any:
    """The library, or None where it cannot be called this way.

    The symbols are looked up through the extension module that is linked to it, so it is the
    very library confluent-kafka uses, wherever the wheel or the system has put it.
    """
    try:
        loaded = ctypes.CDLL(cimpl.__file__)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):
        return None
    return loaded if ctypes.sizeof(c_void_p) == 8 else None


def address(function: Any) -> int:
    value = ctypes.cast(function, c_void_p).value
    assert value is not None
    return value


class Consumer:
    """A librdkafka consumer and its queue."""

    def __init__(self, config: Config) -> None:
        self._library = library()
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        conf = self._library.rd_kafka_conf_new()
        for name, value in config.items():
            setting = str(value).lower() if isinstance(value, bool) else str(value)
            if self._library.rd_kafka_conf_set(
                conf, name.encode(), setting.encode(), text, _TEXT_BYTES
            ):
                self._library.rd_kafka_conf_destroy(conf)
                raise ValueError(f"Kafka setting {name!r}: {text.value.decode()}")
        self._handle = self._library.rd_kafka_new(CONSUMER, conf, text, _TEXT_BYTES)
        if not self._handle:
            self._library.rd_kafka_conf_destroy(conf)
            raise ValueError(f"Kafka settings: {text.value.decode()}")
        self._library.rd_kafka_poll_set_consumer(self._handle)
        self._queue = self._library.rd_kafka_queue_get_consumer(self._handle)

    def assign(self, topic: str, partition: int, offset: int) -> None:
        """Read from there. What an earlier assignment left in the queue is dropped."""
        name = topic.encode()
        chosen = self._library.rd_kafka_topic_partition_list_new(1)
        try:
            self._library.rd_kafka_topic_partition_list_add(chosen, name, partition)
            self._library.rd_kafka_topic_partition_list_set_offset(chosen, name, partition, offset)
            self._check(self._library.rd_kafka_assign(self._handle, chosen))
        finally:
            self._library.rd_kafka_topic_partition_list_destroy(chosen)

    def unassign(self) -> None:
        self._check(self._library.rd_kafka_assign(self._handle, None))

    def consume(self, wait_ms: int, pointers: int, at_most: int) -> int:
        """Writes pointers to messages; waits until there are `at_most`, or `wait_ms` are over."""
        count = self._library.rd_kafka_consume_batch_queue(self._queue, wait_ms, pointers, at_most)
        return max(0, int(count))

    def close(self) -> None:
        self._library.rd_kafka_queue_destroy(self._queue)
        self._library.rd_kafka_destroy_flags(self._handle, _DESTROY_NO_CONSUMER_CLOSE)

    def _check(self, code: int) -> None:
        if code:
            raise ValueError(self._library.rd_kafka_err2str(code).decode())
