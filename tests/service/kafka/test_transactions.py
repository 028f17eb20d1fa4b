"""Errors of the producer that Python disguises."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from service.kafka.transactions import _flush


class Disguising:
    """A producer whose flush fails as confluent-kafka's does after a fatal error."""

    def __init__(self, cause):
        self._cause = cause

    def flush(self, seconds):
        raise SystemError("returned NULL without setting an exception") from self._cause


def test_a_fatal_error_of_a_flush_is_an_error_of_kafka_with_and_without_its_cause():
    fenced = KafkaException(KafkaError(KafkaError._FENCED))
    with pytest.raises(KafkaException) as raised:
        _flush(Disguising(fenced), 1)
    assert raised.value is fenced
    with pytest.raises(KafkaException) as raised:
        _flush(Disguising(None), 1)
    assert raised.value.args[0].code() == KafkaError._FATAL
