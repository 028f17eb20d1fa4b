"""Kafka in and out: replayable ranges of messages, and replies written exactly once."""

from sde.decoding import Messages
from service.kafka.errors import (
    BrokerSilent,
    FetchFailed,
    KafkaFailure,
    LogTooShort,
    OffsetsLost,
    WriteFailed,
)
from service.kafka.fetch import fetch
from service.kafka.retention import Lost
from service.kafka.sink import KafkaSink, SinkOptions
from service.kafka.source import KafkaReader, ReaderOptions
from service.kafka.transactions import Row

__all__ = [
    "BrokerSilent",
    "FetchFailed",
    "KafkaFailure",
    "KafkaReader",
    "KafkaSink",
    "LogTooShort",
    "Lost",
    "Messages",
    "OffsetsLost",
    "ReaderOptions",
    "Row",
    "SinkOptions",
    "WriteFailed",
    "fetch",
]
