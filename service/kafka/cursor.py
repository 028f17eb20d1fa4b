"""The position of a fetch within its range, and what an error on the way means for it.

All ways of fetching share it, so they stop, wait and fail alike.
"""

from __future__ import annotations

import logging
import time

from confluent_kafka import KafkaError

from service.kafka.access import check_access
from service.kafka.config import KafkaSettings
from service.kafka.errors import (
    AccessRefused,
    BatchDamaged,
    BrokerSilent,
    FetchFailed,
    LogTooShort,
    OffsetsLost,
)
from service.kafka.logs import TRANSIENT, LogEnds

_log = logging.getLogger(__name__)
_BACKOFF_SECONDS = 0.2
_OUT_OF_RANGE = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}


class Cursor:
    """A range is exhausted when `next` reaches its end.

    Offsets of control records, aborted messages and compacted ones are never delivered, so
    `next` also moves when the broker says that nothing more is there (end of partition).
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        partition: int,
        start: int,
        end: int,
        patience: float,
    ) -> None:
        self.topic, self.partition = topic, partition
        self.next, self.end = start, end
        self._settings, self._patience = settings, patience
        self._deadline = time.monotonic() + patience
        self._last_error = "no answer"

    @property
    def done(self) -> bool:
        return self.next >= self.end

    def advance(self, offset: int) -> None:
        """Everything before `offset` was delivered, or will never be."""
        if offset > self.next:
            self.next = offset
            self.refresh()

    def refresh(self) -> None:
        """Begin to wait anew: the time in which the caller decoded a chunk does not count."""
        self._deadline = time.monotonic() + self._patience

    def check_patience(self) -> None:
        """Raise BrokerSilent if nothing has come for too long."""
        if time.monotonic() > self._deadline:
            raise BrokerSilent(
                f"Topic {self.topic!r}, partition {self.partition}: nothing came from the broker "
                f"for {self._patience:g} s while waiting for offset {self.next} of the range "
                f"that ends at {self.end} ({self._last_error})."
            )

    def refuse(self, reason: str) -> None:
        """The brokers do not let us in."""
        check_access(self._settings)  # says why, if it can
        raise AccessRefused(
            f"Topic {self.topic!r}, partition {self.partition}: Kafka refuses us: {reason}. Check "
            "security.protocol, and the settings that begin with ssl. and sasl."
        )

    def on_error(self, code: int, reason: str, offset: int) -> bool:
        """Whether to assign the range again, from `next`; a KafkaFailure if waiting is no use."""
        if code == KafkaError._PARTITION_EOF:
            self.advance(offset)
            return False
        if code == KafkaError._BAD_MSG:
            if offset < self.end:
                raise BatchDamaged(self.topic, self.partition, offset)
            self.advance(self.end)  # what lies behind the range is fetched, too
            return False
        if code in _OUT_OF_RANGE:
            self._raise_if_outside_the_log()
        elif code not in TRANSIENT:
            raise FetchFailed(
                f"Topic {self.topic!r}, partition {self.partition}: the fetch from offset "
                f"{self.next} failed: {reason}."
            )
        _log.warning("topic %s, partition %d: %s; trying again", self.topic, self.partition, reason)
        self._last_error = reason
        self.check_patience()
        time.sleep(_BACKOFF_SECONDS)
        return True

    def _raise_if_outside_the_log(self) -> None:
        key = (self.topic, self.partition)
        log = LogEnds(self._settings, [self.topic], self._patience)
        earliest, latest = log.starts([key])[key], log.high_watermarks([key])[key]
        if self.next < earliest:
            raise OffsetsLost(self.topic, self.partition, self.next, earliest)
        if self.next > latest:
            raise LogTooShort(self.topic, self.partition, self.next, latest)
