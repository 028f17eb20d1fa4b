"""librdkafka configurations of the service; sde.wire.kafka_settings says what overrides what."""

from __future__ import annotations

import json

from sde.wire.kafka_settings import CONSUMER_RULES, PRODUCER_RULES, combined
from sde.wire.kafka_settings import Config as Config
from sde.wire.kafka_settings import KafkaSettings as KafkaSettings

# How long to wait for a broker that is away; as long as a transaction of a killed process is open.
PATIENCE_SECONDS = 60.0

# What librdkafka has to say in an outage is hundreds of lines; our errors have the reason.
_QUIET: Config = {"log_level": 0}
_FAILED_TO_START = "Failed to create"  # begins what librdkafka says of files, users and passwords
_CONSUMER_TUNING: Config = {
    **_QUIET,
    "group.id": "sde",  # librdkafka wants one; no group is joined, no offset is committed
    # A fetch in flight delays the next range by up to this long.
    "fetch.wait.max.ms": 10,
    # Once the prefetch queue was full, the default waits a second before the next fetch.
    "fetch.queue.backoff.ms": 2,
    # Prefetch far enough to keep the decoder busy; what lies beyond a range's end is thrown away.
    "fetch.message.max.bytes": 4 << 20,
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 32 << 10,
}
_CONSUMER_RULES: Config = {
    **CONSUMER_RULES,  # no offset is committed: they are in Spark's checkpoint
    "auto.offset.reset": "error",  # lost offsets are ours to report, never to be skipped over
    "check.crcs": True,  # a damaged batch is an error
    "enable.partition.eof": True,  # tells that the rest of a range holds no messages
}
_PRODUCER_TUNING: Config = {
    **_QUIET,
    "linger.ms": 0,
    # Above this a reply is refused here; between a topic's own limit and this, by the broker.
    "message.max.bytes": 32 << 20,
}


def consumer_config(settings: KafkaSettings) -> Config:
    return combined(_CONSUMER_TUNING, settings, _CONSUMER_RULES)


def producer_config(settings: KafkaSettings, transactional_id: str) -> Config:
    rules = {**PRODUCER_RULES, "transactional.id": transactional_id}
    return combined(_PRODUCER_TUNING, settings, rules)


def admin_config(settings: KafkaSettings) -> Config:
    return combined(_QUIET, settings, {})


def check_settings(settings: KafkaSettings) -> None:
    """ValueError for a name that librdkafka does not know, or a value that it cannot have.

    Whether a file can be read or a password is right is told by who uses them.
    """
    from confluent_kafka import KafkaException, Producer

    named = {name: value for name, value in settings.items() if "servers" not in name}
    try:
        Producer(admin_config(named))
    except KafkaException as error:
        reason = str(error.args[0].str()).strip()
        if not reason.startswith(_FAILED_TO_START):
            raise ValueError(reason) from None


def identity(config: KafkaSettings) -> str:
    """Equal for equal configurations: the key under which clients are cached."""
    return json.dumps(config, sort_keys=True)
