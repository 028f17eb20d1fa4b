"""Writes the replies of a batch in one Kafka transaction, once, however often it is called.

Runs in the Python process in which Spark commits to the sink.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from service.kafka.config import KafkaSettings, producer_config
from service.kafka.errors import BrokerSilent, WriteFailed
from service.kafka.logs import waiting_helps
from service.kafka.markers import ensure_topic, last_batch, marker

_log = logging.getLogger(__name__)
_BACKOFF_SECONDS = 0.2
_CALL_SECONDS = 10.0
_POLL_SECONDS = 0.1


class Row(NamedTuple):
    """One message to write."""

    topic: str
    key: str | None
    value: bytes


TooLarge = Callable[[Row], Row | None]


class BatchWriter:
    """The transactional producer of one query.

    A batch id at or below the last marker was written before and is skipped. The marker is read
    when the producer is made, after Kafka has fenced all earlier producers of the same query and
    ended their transactions: no other process can add a marker after that. So after any failure,
    also one that leaves open whether the transaction was committed, a new producer is made and
    reads the marker.
    """

    def __init__(self, settings: KafkaSettings, query: str, markers: str, patience: float) -> None:
        self._settings, self._query, self._markers = settings, query, markers
        self._patience = patience
        self._producer: Producer | None = None
        self._last = 0

    def write(self, batch: int, rows: Sequence[Row], too_large: TooLarge) -> bool:
        """Whether the rows were written now (False: they were there already).

        A row Kafka refuses for its size is replaced by `too_large(row)`; if that gives None, or
        a row that is refused again, it is dropped with a line in the log.
        """
        deadline = time.monotonic() + self._patience
        left: list[Row] = list(rows)
        replaced: set[Row] = set()
        alone = False
        while True:
            try:
                if self._producer is None:
                    self._producer = self._open()
                if batch <= self._last:
                    _log.info("batch %d of %s was written before", batch, self._query)
                    return False
                refused = self._transact(self._producer, batch, left, alone, deadline)
            except KafkaException as exception:
                self._producer = None
                self._check_patience(batch, exception, deadline)
                continue
            if not refused:
                self._last = batch
                return True
            if alone:
                left = _without(_as_large(refused, left), left, replaced, too_large)
            # Rows sent together are refused together: send each alone, to find those too large.
            alone = True

    def _open(self) -> Producer:
        ensure_topic(self._settings, self._markers, self._patience)
        producer = Producer(dict(producer_config(self._settings, self._query)))
        producer.init_transactions(self._patience)
        self._last = last_batch(self._settings, self._markers, self._query, self._patience)
        return producer

    def _transact(
        self, producer: Producer, batch: int, rows: Sequence[Row], alone: bool, deadline: float
    ) -> set[int]:
        """Indexes of rows refused for their size: then nothing was written, else everything."""
        refused: set[int] = set()
        try:
            producer.begin_transaction()
            for index, row in enumerate(rows):
                _produce(producer, row, index, refused)
                if alone:
                    _hear(producer, refused, time.monotonic() + _CALL_SECONDS)
            producer.produce(self._markers, marker(self._query, batch), key=self._query.encode())
            _hear(producer, refused, deadline)
            if not refused:
                _commit(producer, deadline)
                return refused
        except KafkaException:
            # A refused row is one of the reasons why calls fail.
            _hear(producer, refused, time.monotonic() + _CALL_SECONDS)
            if not refused:
                raise
        producer.abort_transaction(_CALL_SECONDS)
        return refused

    def _check_patience(self, batch: int, exception: KafkaException, deadline: float) -> None:
        error: KafkaError = exception.args[0]
        if time.monotonic() > deadline:
            failure = BrokerSilent if waiting_helps(exception) else WriteFailed
            raise failure(
                f"Batch {batch} of query {self._query!r} was not written within "
                f"{self._patience:g} s: {error.str()}."
            ) from exception
        _log.warning("batch %d of %s: %s; trying again", batch, self._query, error.str())
        time.sleep(_BACKOFF_SECONDS)


def _hear(producer: Producer, refused: set[int], deadline: float) -> None:
    """Wait until all rows were delivered, or one was refused: those behind it never are then."""
    while _flush(producer, _POLL_SECONDS) and not refused and time.monotonic() < deadline:
        pass


def _flush(producer: Producer, seconds: float) -> int:
    """How many messages are left.

    confluent-kafka calls the delivery callbacks with a fatal error already raised, which Python
    reports as a SystemError caused by it.
    """
    try:
        return producer.flush(seconds)
    except SystemError as disguise:
        if isinstance(disguise.__cause__, KafkaException):
            raise disguise.__cause__ from disguise
        # That of a producer that another one has fenced off may come without its cause.
        raise KafkaException(KafkaError(KafkaError._FATAL, str(disguise))) from disguise


def _produce(producer: Producer, row: Row, index: int, refused: set[int]) -> None:
    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            refused.add(index)

    key = None if row.key is None else row.key.encode()
    while True:
        try:
            producer.produce(row.topic, row.value, key=key, on_delivery=delivered)
            return
        except BufferError:  # the queue is full: let some go out
            _flush(producer, _POLL_SECONDS)
        except KafkaException as exception:
            if exception.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                raise
            refused.add(index)
            return


def _commit(producer: Producer, deadline: float) -> None:
    while True:
        try:
            producer.commit_transaction(_CALL_SECONDS)
            return
        except KafkaException as exception:
            if not exception.args[0].retriable() or time.monotonic() > deadline:
                raise


def _as_large(refused: set[int], rows: list[Row]) -> set[int]:
    """The refused rows, and those that would be: a first refusal keeps later rows from being
    tried."""
    limits: dict[str, int] = {}
    for index in refused:
        row = rows[index]
        limits[row.topic] = min(len(row.value), limits.get(row.topic, len(row.value)))
    return {
        index
        for index, row in enumerate(rows)
        if index in refused or (row.topic in limits and len(row.value) >= limits[row.topic])
    }


def _without(
    refused: set[int], rows: list[Row], replaced: set[Row], too_large: TooLarge
) -> list[Row]:
    """The rows to try instead. What was `replaced` once is not replaced again."""
    out: list[Row] = []
    for index, row in enumerate(rows):
        if index not in refused:
            out.append(row)
            continue
        other = None if row in replaced else too_large(row)
        if other is None:
            _log.error("dropped %d bytes for topic %s: too large", len(row.value), row.topic)
        else:
            replaced.add(other)
            out.append(other)
    return out
