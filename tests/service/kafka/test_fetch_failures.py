"""A fetch waits for what passes, and says clearly what does not."""

from __future__ import annotations

import threading
import time

import pytest
from confluent_kafka import Producer

from service.kafka.direct_consumer import DirectConsumer
from service.kafka.errors import BatchDamaged, BrokerSilent, LogTooShort, OffsetsLost
from service.kafka.fetch import fetch
from service.kafka.plain_consumer import PlainConsumer
from service.kafka.topics import TopicSpec, ensure_topics

WAYS = pytest.mark.parametrize("way", [DirectConsumer, PlainConsumer])


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
    for way in (DirectConsumer, PlainConsumer):
        chunks = fetch(small, "t", 0, 0, count, way=way, max_messages=10_000)
        found = gather([next(chunks)])
        own_broker.stop()
        back = threading.Thread(target=lambda: (time.sleep(1.0), own_broker.start()))
        back.start()
        found += gather(chunks)
        back.join()
        assert [offset for offset, _, _ in found] == list(range(count))
        assert [int(payload) for _, _, payload in found] == list(range(count))


@pytest.mark.integration
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_batch_whose_bytes_have_changed_on_the_brokers_disk_is_named(own_broker, gather, codec):
    settings = {"bootstrap.servers": own_broker.bootstrap_servers}
    ensure_topics(settings, [TopicSpec("t")])
    tuning = {"linger.ms": 200, "compression.type": codec, "log_level": 0}
    for start in (0, 100, 200):
        producer = Producer({**settings, **tuning})
        for i in range(start, start + 100):
            producer.produce("t", b"a payload of %d" % i, partition=0)
        assert producer.flush(30) == 0
    own_broker.stop()  # in order: so Kafka does not look at its files when it starts
    (segment,) = own_broker.log_file.parent.glob("data/t-0/*.log")
    data = bytearray(segment.read_bytes())
    second = 12 + int.from_bytes(data[8:12])
    data[second + 90] ^= 1
    segment.write_bytes(data)
    own_broker.start()
    for way in (DirectConsumer, PlainConsumer):
        assert len(gather(fetch(settings, "t", 0, 0, 100, way=way))) == 100
        with pytest.raises(BatchDamaged, match=r"'t', partition 0: the batch at offset 100 is dam"):
            list(fetch(settings, "t", 0, 50, 300, way=way))
        assert len(gather(fetch(settings, "t", 0, 200, 300, way=way))) == 100
