"""Writes down which sources are read, when the shards have decided it.

Merge writes every new set of sources to the union topic; a thread here writes it to a file of the
checkpoint, where the process that plans batches finds it (`service.kafka.sources_file`). What was
not finished when the engine ended is done when it starts again.
"""

from __future__ import annotations

import uuid

import orjson
from confluent_kafka import Message, Producer

from sde.records.loop import Sourced
from sde.records.seal import LoopSeal
from sde.wire import message_of
from service.engine.follower import TopicFollower
from service.engine.loop_topic import LoopTopic
from service.kafka.config import admin_config, consumer_config
from service.kafka.sources_file import SourcesFile
from service.settings import Settings
from service.startup_errors import StartupError

_KAFKA_SECONDS = 30.0


class SourceKeeper(TopicFollower):
    """Runs in a thread of its own between `start` and `stop`."""

    def __init__(self, settings: Settings, seal: LoopSeal) -> None:
        super().__init__(
            "source keeper",
            settings.topics.union,
            consumer_config(settings.kafka_config),
            group=f"{seal.checkpoint}-sources",
            first="beginning",
            most_at_once=1_000,
        )
        self._loop = LoopTopic(settings, seal)
        self._file = SourcesFile(settings.sources_folder)

    def on_poll(self, messages: list[Message]) -> bool:
        for message in messages:
            record = self._loop.read(message)
            if isinstance(record, Sourced):
                self._file.write(record.sources)
        return bool(messages)


def request_sources(settings: Settings) -> None:
    """Ask for the sources of the settings, as any client would; those that are known stay."""
    producer = Producer(admin_config(settings.kafka_config))
    for source in settings.sources.values():
        request = {**message_of(source), "id": f"settings-{source.name}-{uuid.uuid4().hex}"}
        producer.produce(settings.topics.requests, orjson.dumps(request))
    if producer.flush(_KAFKA_SECONDS):
        raise StartupError("the sources of the settings could not be requested: Kafka is away")
