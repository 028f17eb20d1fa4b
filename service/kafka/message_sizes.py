"""The size of waiting messages: Kafka tells how many there are, not how many bytes they have."""

from __future__ import annotations

import time

from service.kafka.config import Config
from service.kafka.offsets import Offsets
from service.kafka.read_logs import topic_of

_FEW = 200  # waiting messages that need no looking at
_LOOKED_AT = 50
_LOOK_AGAIN_SECONDS = 10.0
_FIRST_GUESS = 1000.0


class MessageSizes:
    """`mean`: bytes of a message, measured on some of those that wait, every few seconds.

    Used in the process that plans a source.
    """

    def __init__(self, kafka: Config, patience: float) -> None:
        self._kafka, self._patience = kafka, patience
        self._looked = -_LOOK_AGAIN_SECONDS
        self.mean = _FIRST_GUESS

    def look(self, known: Offsets, ends: Offsets) -> None:
        """Measure again if it is time and enough wait between the `known` offsets and `ends`."""
        waiting = {key: end - known[key] for key, end in ends.items()}
        if sum(waiting.values()) < _FEW or time.monotonic() - self._looked < _LOOK_AGAIN_SECONDS:
            return
        # Imported here: it is heavy, and most processes that import this never look.
        from service.kafka.fetch import fetch

        (log, partition), count = max(waiting.items(), key=lambda item: item[1])
        topic, start = topic_of(log), known[log, partition]
        end = start + min(count, _LOOKED_AT)
        size = number = 0
        for messages in fetch(self._kafka, topic, partition, start, end, patience=self._patience):
            size += int((messages.ends - messages.starts).sum())
            number += len(messages)
        if number:
            self.mean = max(1.0, size / number)
        self._looked = time.monotonic()
