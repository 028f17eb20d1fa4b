"""What is to be seen of an engine beside its replies: status, batches, dead letters."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from confluent_kafka import Message as KafkaMessage

from clients.address import EngineFolder
from clients.kafka_config import KafkaSettings
from clients.transport import Message
from sde.wire.status import EngineStatus
from service.gateway.topic_tail import TopicTail

MOST_BATCHES, MOST_LETTERS = 1000, 1000
_BYTES_A_BATCH = 4 << 10  # of the log's end that is read for each line that is asked for
_MOST_BYTES = 4 << 20
_SECONDS_KEPT = 1.0  # dead letters that were read serve all who ask within it

Letters = Callable[[], list[Message]]  # the last ones, in their order; waits for Kafka


class Beside:
    """Made when the gateway starts. `servers`: of its Kafka; the folder may be another engine's."""

    def __init__(self, folder: EngineFolder, letters: Letters, servers: str = "") -> None:
        self._folder, self._servers = folder, servers
        self._letters = letters
        self._kept: list[Message] = []
        self._read_again = 0.0
        self._one_at_a_time = asyncio.Lock()

    def status(self) -> EngineStatus | None:
        """What the engine wrote down last; None if it is on another machine, or gone."""
        found = self._folder.status()
        is_ours = found is not None and self._servers in ("", found.bootstrap_servers)
        return found if is_ours and self._folder.is_locked() is not False else None

    async def batches(self, limit: int) -> list[Message]:
        """The last lines of the log of batches, the oldest first."""
        path = self._folder.path / "logs" / "batches.jsonl"
        return await asyncio.to_thread(_last_lines, path, limit)

    async def letters(self) -> list[Message]:
        """The last dead letters, the oldest first."""
        async with self._one_at_a_time:
            if time.monotonic() >= self._read_again:
                self._kept = await asyncio.to_thread(self._letters)
                self._read_again = time.monotonic() + _SECONDS_KEPT
            return self._kept


class KafkaLetters:
    """The last messages of an engine's dead-letter topic, each with the time it was written `at`.

    What is no letter of an engine is left out: others may write to the topic, too.
    """

    def __init__(self, settings: KafkaSettings, topic: str) -> None:
        self._tail = TopicTail(settings, topic, MOST_LETTERS)

    def __call__(self) -> list[Message]:
        found: list[Message] = []

        def take(message: KafkaMessage) -> None:
            letter = _object(message.value() or b"")
            if isinstance(letter.get("code"), str) and isinstance(letter.get("excerpt"), str):
                found.append({"at": message.timestamp()[1], **letter})

        self._tail.read(take)
        return sorted(found, key=lambda letter: letter["at"])


def counted(letters: list[Message]) -> dict[str, int]:
    """How many there are of each code."""
    return dict(Counter(letter["code"] for letter in letters).most_common())


def _last_lines(path: Path, limit: int) -> list[Message]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            start = max(0, size - min(limit * _BYTES_A_BATCH, _MOST_BYTES))
            file.seek(start)
            lines = file.read(_MOST_BYTES).splitlines()
    except FileNotFoundError:
        return []
    whole = lines[1:] if start else lines  # the first may be a part of one
    return [line for line in map(_object, whole) if "batch" in line][-limit:]


def _object(text: bytes) -> dict[str, Any]:
    """Empty for what is no JSON object."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
