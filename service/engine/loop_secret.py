"""The secret of a checkpoint, in a file inside it that only its owner may read.

The stages and the threads beside the query seal with it what they write to the union topic. A
checkpoint of a version without seals gets one at its first start; what stands in the topic at
that moment is still believed, and no more when it has been read.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path

import msgspec
from confluent_kafka import Consumer, KafkaException, TopicPartition
from msgspec import Struct

from sde.records.seal import LoopSeal
from service.engine.checkpoint_name import checkpoint_name
from service.kafka.config import consumer_config
from service.settings import Settings
from service.startup_errors import StartupError

_KAFKA_SECONDS = 30.0
_OWNER_ONLY = 0o600


class _File(Struct):
    secret: bytes
    unsealed_before: dict[str, int]  # by topic


def make_secret(settings: Settings) -> None:
    """Make the file if the checkpoint lacks it. To be called before anything is written."""
    if not _path(settings).exists():
        is_new = not (settings.checkpoint / "offsets").exists()
        before = {} if is_new else _ends(settings)
        _write(settings, LoopSeal.new(checkpoint_name(settings), before))


def read_seal(settings: Settings) -> LoopSeal:
    try:
        kept = msgspec.json.decode(_path(settings).read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError) as error:
        raise StartupError(
            f"{_path(settings)}: the secret of the checkpoint cannot be read: {error}; if it is "
            "lost remove the file: messages of the engine to itself that wait are lost, too"
        ) from None
    return LoopSeal(checkpoint_name(settings), kept.secret, kept.unsealed_before)


def end_upgrade(settings: Settings) -> None:
    """All that stood in the topics at the start was read: nothing without a seal counts now."""
    seal = read_seal(settings)
    if seal.unsealed_before:
        _write(settings, LoopSeal(seal.checkpoint, seal.secret))


def _path(settings: Settings) -> Path:
    return settings.checkpoint / "sde-loop-secret"


def _write(settings: Settings, seal: LoopSeal) -> None:
    """The file is there with all that belongs into it, or not at all."""
    path = _path(settings)
    new = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    body = msgspec.json.encode(_File(seal.secret, dict(seal.unsealed_before)))
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    with os.fdopen(handle, "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(handle)
    new.replace(path)


def _ends(settings: Settings) -> Mapping[str, int]:
    """Where the topics end that the engine, and other sites, wrote to without seals."""
    topics = (settings.topics.union, settings.topics.requests)
    consumer = Consumer(consumer_config(settings.kafka_config))
    try:
        places = [TopicPartition(topic, 0) for topic in topics]
        ends = [consumer.get_watermark_offsets(place, _KAFKA_SECONDS)[1] for place in places]
    except KafkaException as error:
        raise StartupError(f"{topics}: their ends are not known: {error}") from error
    finally:
        consumer.close()
    return dict(zip(topics, ends, strict=True))
