"""A fetch waits for what passes, and says clearly what does not."""

from __future__ import annotations

import threading
import time

import pytest
from confluent_kafka import Producer

from service.kafka import librdkafka
from service.kafka.bulk_consumer import BulkConsumer
from service.kafka.errors import BrokerSilent, LogTooShort, OffsetsLost
from service.kafka.fetch import best_way, fetch
from service.kafka.plain_consumer import PlainConsumer
from service.kafka.topics import TopicSpec, ensure_topics

WAYS = pytest.mark.parametrize("way", [BulkConsumer, PlainConsumer])


def test_without_the_library_the_plain_way_is_taken(monkeypatch):
    monkeypatch.setattr(librdkafka, "library", lambda: None)
    assert best_way({}) is PlainConsumer


@pytest.mark.integration
@WAYS
def test_offsets_deleted_by_retention_are_named(settings, make_topic, produce, delete_before, way):
    topic = make_topic()
    produce(topic, [b"x"] * 100)
    delete_before(topic, 0, 60)
    with pytest.raises(OffsetsLost, match=r"offset 10 .* before offset 60.*on_lost") as caught:
        list(fetch(settings, topic, 0, 10, 100, way=way))
    assert (caught.value.wanted, caught.value.earliest) == (10, 60)
    assert sum(len(m) for m in fetch(settings, topic, 0, 60, 100, way=way)) == 40


@pytest.mark.integration
@WAYS
def test_a_start_beyond_the_log_is_named(settings, make_topic, produce, way):
    topic = make_topic()
    produce(topic, [b"x"] * 5)
    with pytest.raises(LogTooShort, match="ends at offset 5"):
        list(fetch(settings, topic, 0, 10, 20, way=way))


@pytest.mark.integration
@WAYS
def test_an_end_that_never_comes_is_given_up(settings, make_topic, produce, gather, way):
    topic = make_topic()
    produce(topic, [b"x"] * 5)
    with pytest.raises(BrokerSilent, match="waiting for offset 5 of the range that ends at 6"):
        list(fetch(settings, topic, 0, 0, 6, way=way, patience=0.5))


@WAYS
def test_a_broker_that_is_not_there_is_given_up(way):
    nowhere = {"bootstrap.servers": "127.0.0.1:9", "log_level": 0}
    with pytest.raises(BrokerSilent, match=r"for 0\.5 s"):
        list(fetch(nowhere, "t", 0, 0, 1, way=way, patience=0.5))


@pytest.mark.integration
def test_a_broker_restart_in_the_middle_of_a_fetch_loses_and_repeats_nothing(own_broker, gather):
    settings = {"bootstrap.servers": own_broker.bootstrap_servers}
    ensure_topics(settings, [TopicSpec("t")])
    producer = Producer({**settings, "queue.buffering.max.messages": 1_000_000})
    count = 150_000
    for i in range(count):
        producer.produce("t", b"%0100d" % i, partition=0)
    assert producer.flush(60) == 0
    # Little prefetch: most of the range is still to come when the broker goes.
    small = {**settings, "queued.max.messages.kbytes": 256, "fetch.message.max.bytes": 100_000}
    small["log_level"] = 0
    for way in (BulkConsumer, PlainConsumer):
        chunks = fetch(small, "t", 0, 0, count, way=way, max_messages=10_000)
        found = gather([next(chunks)])
        own_broker.stop()
        back = threading.Thread(target=lambda: (time.sleep(1.0), own_broker.start()))
        back.start()
        found += gather(chunks)
        back.join()
        assert [offset for offset, _, _ in found] == list(range(count))
        assert [int(payload) for _, _, payload in found] == list(range(count))
