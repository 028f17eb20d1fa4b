"""What librdkafka said last, beside its answers."""

from __future__ import annotations

from confluent_kafka import KafkaError


class LastError:
    """The `error_cb` of a client. It does not know the client: in a circle of references one that
    nobody needs any more would go on looking for its broker."""

    def __init__(self) -> None:
        self.error: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        # That all brokers are down says less than why the last one is.
        if error.code() != KafkaError._ALL_BROKERS_DOWN or self.error is None:
            self.error = error
