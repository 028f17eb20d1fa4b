"""What the tests of service.kafka share: topics of their own on the real broker."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from sde.decoding import Messages
from service.broker.embedded import EmbeddedBroker
from service.kafka.fetch import close_idle
from service.kafka.topics import TopicSpec, ensure_topics

_numbers = itertools.count()

MakeTopic = Callable[..., str]
Produce = Callable[..., None]
Gather = Callable[[Iterable[Messages]], list[tuple[int, int, bytes]]]


@pytest.fixture(scope="session")
def settings(broker: EmbeddedBroker) -> Iterator[dict[str, str]]:
    yield {"bootstrap.servers": broker.bootstrap_servers}
    close_idle()  # before the broker goes, else they complain


@pytest.fixture
def make_topic(settings: dict[str, str]) -> MakeTopic:
    def make(partitions: int = 1, **config: str) -> str:
        name = f"kafka-test-{next(_numbers)}"
        dotted = {key.replace("_", "."): value for key, value in config.items()}
        ensure_topics(settings, [TopicSpec(name, partitions, dotted)])
        return name

    return make


@pytest.fixture
def produce(settings: dict[str, str]) -> Produce:
    """Writes payloads in order and waits until the broker has them."""

    def write(topic: str, payloads: Iterable[bytes | None], partition: int = 0) -> None:
        producer = Producer({**settings, "linger.ms": 5, "message.max.bytes": 32 << 20})
        for i, payload in enumerate(payloads):
            producer.produce(topic, payload, key=b"k%d" % (i % 7), partition=partition)
            producer.poll(0)
        assert producer.flush(30) == 0

    return write


@pytest.fixture
def delete_before(settings: dict[str, str]) -> Callable[[str, int, int], None]:
    """What retention does, at once."""
    admin = AdminClient(settings)

    def delete(topic: str, partition: int, offset: int) -> None:
        for future in admin.delete_records([TopicPartition(topic, partition, offset)]).values():
            future.result()

    return delete


@pytest.fixture
def gather() -> Gather:
    """Unpacks chunks to (offset, timestamp, payload), checking the layout on the way."""

    def unpack(chunks: Iterable[Messages]) -> list[tuple[int, int, bytes]]:
        out = []
        for chunk in chunks:
            assert len(chunk) > 0
            assert chunk.starts[0] == 0
            assert (chunk.starts[1:] == chunk.ends[:-1] + 1).all()
            assert (chunk.buffer[chunk.ends] == ord("\n")).all()
            assert chunk.buffer.size == chunk.ends[-1] + 1
            out += [
                (int(offset), int(timestamp), chunk.payload(i))
                for i, (offset, timestamp) in enumerate(
                    zip(chunk.offsets, chunk.timestamps, strict=True)
                )
            ]
        return out

    return unpack
