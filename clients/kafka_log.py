"""librdkafka's log, as that of the logger `clients.kafka`: a line a minute about a broker."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

NAME = "clients.kafka"
_SECONDS = 60.0
_MOST = 1_000  # brokers and texts that are remembered
# "FAIL [rdkafka#producer-1] [thrd:kafka:9092/1]: ..."; a broker is known under several names.
_TROUBLE = re.compile(r"(?:FAIL|ERROR) .*?\[thrd:(?:\w+://)?([^/\]]+)")


class OncePerMinute(logging.Filter):
    """Lets a warning about the same broker, or of the same text, pass once a minute.

    A broker that is away is tried again several times a second, by each client, and each attempt
    has its lines.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._passed: dict[str, float] = {}  # the oldest first

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        text = record.getMessage()
        trouble = _TROUBLE.match(text)
        subject = trouble.group(1) if trouble else text
        now = self._clock()
        last = self._passed.get(subject)
        if last is not None and now - last < _SECONDS:
            return False
        self._passed.pop(subject, None)
        self._passed[subject] = now
        if len(self._passed) > _MOST:
            self._passed.pop(next(iter(self._passed)), None)  # another thread may be as fast
        return True


# Nothing goes to the standard error of a program that has no logging.
LOGGER = logging.getLogger(NAME)
LOGGER.addHandler(logging.NullHandler())
LOGGER.addFilter(OncePerMinute())
