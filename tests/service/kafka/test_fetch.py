"""Both ways of fetching give the same, whatever lies in the log."""

from __future__ import annotations

import random
import struct
import time

import numpy as np
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from sde.decoding.headers import header_values, packed_headers
from service.kafka import record_batches as kernel
from service.kafka.chunk import Chunk, ChunkShape
from service.kafka.cursor import Cursor
from service.kafka.direct_consumer import DirectConsumer
from service.kafka.fetch import fetch
from service.kafka.logs import LogEnds
from service.kafka.plain_consumer import PlainConsumer

pytestmark = pytest.mark.integration
WAYS = (DirectConsumer, PlainConsumer)


def end_of(settings, topic):
    return LogEnds(settings, [topic], 30).ends()[topic, 0]


def settled_end(settings, topic):
    """The end, when all transactions are: a commit returns a moment before its record is there."""
    logs = LogEnds(settings, [topic], 30)
    deadline = time.monotonic() + 120
    while (ends := logs.ends()) != logs.high_watermarks([(topic, 0)]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return ends[topic, 0]


def both_ways(settings, topic, partition, start, end, gather, **limits):
    direct, plain = (
        gather(fetch(settings, topic, partition, start, end, way=way, **limits)) for way in WAYS
    )
    assert direct == plain
    assert all(start <= offset < end for offset, _, _ in direct)
    return direct


@pytest.mark.parametrize("partitions", [1, 5])
def test_any_range_in_any_chunks_is_the_same_both_ways(
    settings, make_topic, produce, gather, partitions
):
    rng = random.Random(partitions)
    topic = make_topic(partitions)
    payloads = {}
    for p in range(partitions):
        payloads[p] = [rng.randbytes(rng.choice([0, 1, 114, 5000])) for _ in range(2000)]
        produce(topic, payloads[p], p)
    for _ in range(12):
        p = rng.randrange(partitions)
        start, end = sorted(rng.sample(range(2001), 2))
        limits = {"max_bytes": rng.choice([1, 6000, 1 << 20]), "max_messages": rng.choice([1, 700])}
        found = both_ways(settings, topic, p, start, end, gather, **limits)
        assert [offset for offset, _, _ in found] == list(range(start, end))
        assert [payload for _, _, payload in found] == payloads[p][start:end]


def test_payloads_from_none_to_ten_megabytes_arrive_whole(settings, make_topic, produce, gather):
    topic = make_topic(max_message_bytes=str(16 << 20))
    sizes = [0, 1, 10 << 20, 3, 0, 5 << 20, 5 << 20, 70_000]
    payloads = [bytes([65 + i]) * size for i, size in enumerate(sizes)]
    produce(topic, payloads)
    for max_bytes in (1, 6 << 20, 64 << 20):
        found = both_ways(settings, topic, 0, 0, len(sizes), gather, max_bytes=max_bytes)
        assert [payload for _, _, payload in found] == payloads


def test_a_tombstone_is_a_message_of_length_zero(settings, make_topic, produce, gather):
    topic = make_topic()
    produce(topic, [b"a", None, b"c"])
    found = both_ways(settings, topic, 0, 0, 3, gather)
    assert [payload for _, _, payload in found] == [b"a", b"", b"c"]


def test_the_timestamp_is_the_producers(settings, make_topic, gather):
    topic = make_topic(retention_ms="-1")  # the broker looks now and then for what is that old
    producer = Producer(settings)
    for i in range(10):
        producer.produce(topic, b"x", timestamp=1_700_000_000_000 + i, partition=0)
    producer.flush()
    found = both_ways(settings, topic, 0, 0, 10, gather)
    assert [stamp for _, stamp, _ in found] == [1_700_000_000_000 + i for i in range(10)]


def transactions(settings, topic, rng, rounds):
    """Two producers whose transactions overlap, and one without; returns what was committed."""
    writers = []
    for i in range(2):
        writers.append(Producer({**settings, "transactional.id": f"{topic}-{i}"}))
        writers[i].init_transactions()
    bare = Producer(settings)
    committed = set()
    for r in range(rounds):
        for writer in writers:
            writer.begin_transaction()
        written = [[], []]
        for n in range(rng.randrange(1, 60)):
            i = rng.randrange(2)
            written[i].append(b"%d-%d-%d" % (r, i, n))
            writers[i].produce(topic, written[i][-1], partition=0)
            if n % 10 == 0:  # a batch in the log, so that the two are interleaved
                writers[i].flush()
        bare.produce(topic, b"bare-%d" % r, partition=0)
        bare.flush()
        committed.add(b"bare-%d" % r)
        for i in rng.sample(range(2), 2):
            if rng.random() < 0.5:
                writers[i].commit_transaction()
                committed.update(written[i])
            else:
                writers[i].flush()
                writers[i].abort_transaction()
    return committed


def test_only_committed_messages_arrive_from_interleaved_transactions(settings, make_topic, gather):
    rng = random.Random(7)
    topic = make_topic()
    committed = transactions(settings, topic, rng, rounds=8)
    end = settled_end(settings, topic)
    everything = both_ways(settings, topic, 0, 0, end, gather)
    assert {payload for _, _, payload in everything} == committed
    assert len(everything) == len(committed)
    for _ in range(15):
        start, stop = sorted(rng.sample(range(end + 1), 2))
        found = both_ways(settings, topic, 0, start, stop, gather, max_messages=rng.choice([3, 99]))
        assert found == [m for m in everything if start <= m[0] < stop]


@pytest.mark.parametrize("commit", [True, False])
def test_a_range_that_ends_in_control_records_ends(settings, make_topic, gather, commit):
    topic = make_topic()
    producer = Producer({**settings, "transactional.id": topic})
    producer.init_transactions()
    for _ in range(2):
        producer.begin_transaction()
        for i in range(5):
            producer.produce(topic, b"%d" % i, partition=0)
        producer.flush()  # else an abort takes them back before they are in the log
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    end = settled_end(settings, topic)
    assert end == 12
    found = both_ways(settings, topic, 0, 0, end, gather, patience=10)
    assert [offset for offset, _, _ in found] == ([0, 1, 2, 3, 4, 6, 7, 8, 9, 10] if commit else [])
    assert both_ways(settings, topic, 0, 11, 12, gather, patience=10) == []


def test_a_range_before_an_open_transaction_ends(settings, make_topic, produce, gather):
    topic = make_topic()
    produce(topic, [b"a", b"b"])
    producer = Producer({**settings, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush()
    assert end_of(settings, topic) == 2
    assert len(both_ways(settings, topic, 0, 0, 2, gather, patience=10)) == 2
    producer.abort_transaction()


@pytest.fixture
def quick_cleaner(settings):
    """Lets the log cleaner look for work five times a second, as long as the test runs."""
    admin = AdminClient(settings)

    def set_to(operation, value):
        entry = ConfigEntry("log.cleaner.backoff.ms", value, incremental_operation=operation)
        resource = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result()

    set_to(AlterConfigOpType.SET, "200")
    yield
    set_to(AlterConfigOpType.DELETE, None)


def test_gaps_from_compaction_are_passed_over(settings, make_topic, produce, gather, quick_cleaner):
    topic = make_topic(cleanup_policy="compact", segment_ms="50", min_cleanable_dirty_ratio="0.001")
    for _ in range(4):  # the same seven keys again and again, in segments of their own
        produce(topic, [b"x" * 100] * 300)
        time.sleep(0.1)
    produce(topic, [b"last"])
    end = end_of(settings, topic)
    deadline = time.monotonic() + 120
    # Until it has done all it can (one message of each of seven keys, and the last segment): then
    # the log stands still, and reading it twice is fair.
    while len(found := gather(fetch(settings, topic, 0, 0, end, way=PlainConsumer))) > 8:
        assert time.monotonic() < deadline, "the log cleaner did nothing"
        time.sleep(0.3)
    assert both_ways(settings, topic, 0, 0, end, gather) == found
    rng = random.Random(3)
    for _ in range(10):
        start, stop = sorted(rng.sample(range(end + 1), 2))
        part = both_ways(settings, topic, 0, start, stop, gather)
        assert part == [m for m in found if start <= m[0] < stop]


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4", "zstd", "snappy"])
def test_what_is_compressed_is_read_directly_too(settings, make_topic, gather, codec):
    topic = make_topic()
    for compression in ("none", codec):
        producer = Producer({**settings, "compression.type": compression})
        for i in range(500):
            producer.produce(topic, b"%s %d" % (compression.encode(), i) * 20, partition=0)
        assert producer.flush(30) == 0
    consumer = DirectConsumer(settings)
    found = gather(consumer.read(Cursor(settings, topic, 0, 3, 990, 30), ChunkShape(1 << 20, 300)))
    assert found == gather(fetch(settings, topic, 0, 3, 990, way=PlainConsumer))
    assert consumer._plain is None
    consumer.close()


def test_the_time_the_broker_appended_is_told_if_the_topic_wants_that(
    settings, make_topic, produce, gather
):
    topic = make_topic(message_timestamp_type="LogAppendTime")
    produce(topic, [b"x"] * 50)
    found = both_ways(settings, topic, 0, 0, 50, gather)
    assert min(stamp for _, stamp, _ in found) > 1_700_000_000_000


def with_keys_and_headers(settings, topic):
    """300 messages: keys null, empty and long; headers repeated, null, none."""
    producer, sent = Producer(settings), []
    for i in range(300):
        key = None if i % 5 == 0 else b"k" * (5 * (i % 50))
        headers = [("h" * (j % 3), None if i % 7 == 0 else b"v" * i) for j in range(i % 6)]
        producer.produce(topic, b"%d" % i, key, partition=0, headers=headers)
        sent.append((key, headers))
    assert producer.flush(30) == 0
    return sent


def test_keys_and_headers_are_passed_over_if_nobody_asks(settings, make_topic, gather):
    topic = make_topic()
    with_keys_and_headers(settings, topic)
    found = both_ways(settings, topic, 0, 0, 300, gather)
    assert [payload for _, _, payload in found] == [b"%d" % i for i in range(300)]
    assert all(chunk.keys is chunk.headers is None for chunk in fetch(settings, topic, 0, 0, 300))


@pytest.mark.parametrize("max_bytes", [1, 900, 1 << 20])
@pytest.mark.parametrize("way", WAYS)
def test_keys_and_headers_arrive_as_they_were_sent(settings, make_topic, gather, way, max_bytes):
    topic = make_topic()
    sent = with_keys_and_headers(settings, topic)
    asked = {"max_bytes": max_bytes, "keys": True, "headers": True, "way": way}
    chunks = list(fetch(settings, topic, 0, 0, 300, **asked))
    assert [payload for _, _, payload in gather(chunks)] == [b"%d" % i for i in range(300)]
    assert [key for chunk in chunks for key in chunk.keys] == [key for key, _ in sent]
    headers = [packed for chunk in chunks for packed in chunk.headers]
    assert headers == [packed_headers(headers) for _, headers in sent]
    values = [value for chunk in chunks for value in header_values(chunk.headers, "h")]
    assert values == [dict(headers).get("h") for _, headers in sent]


def test_damaged_batches_are_never_read_beyond_their_end():
    """A batch as a broker sends it, with any bytes of it changed: no crash, no message invented
    beyond what is there."""
    records = b"".join(
        bytes([2 * (8 + 20), 0, 0, 2 * i, 2 * 2]) + b"kk" + bytes([40]) + b"v" * 20 + b"\0"
        for i in range(9)
    )
    header = struct.pack(
        ">qiibIhiqqqhii", 5, 49 + len(records), 0, 2, 0, 0, 8, 1000, 1000, -1, -1, -1, 9
    )
    whole = header + records
    rng = random.Random(4)
    for turn in range(3000):
        data = bytearray(whole)
        for _ in range(0 if turn == 0 else rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        source = np.zeros(len(data) + kernel.SLACK, np.uint8)
        source[: len(data)] = data
        chunk = Chunk(Cursor({}, "t", 0, 0, 100, 1), ChunkShape(1 << 12, 50))
        _, _, used, filled, reached, _ = kernel.unpack(
            source, 0, len(data), np.empty((0, 2), np.int64), np.empty(0, np.int64), 0, 100,
            *chunk.state(), *chunk.extra_state(),
        )  # fmt: skip
        assert used <= len(data)
        if turn == 0:
            assert (filled, reached) == (9, 14)
            assert chunk.buffer[:21].tobytes() == b"v" * 20 + b"\n"


@pytest.mark.parametrize("way", WAYS)
def test_a_chunk_given_out_is_never_written_again(settings, make_topic, produce, way):
    topic = make_topic()
    produce(topic, [b"%06d" % i for i in range(5000)])
    chunks, copies = [], []
    for chunk in fetch(settings, topic, 0, 0, 5000, max_messages=100, way=way):
        chunks.append(chunk)
        copies.append((chunk.buffer.copy(), chunk.offsets.copy()))
    for chunk, (buffer, offsets) in zip(chunks, copies, strict=True):
        np.testing.assert_array_equal(chunk.buffer, buffer)
        np.testing.assert_array_equal(chunk.offsets, offsets)


@pytest.mark.parametrize("way", WAYS)
def test_fetches_in_turns_and_given_up_half_way_do_not_disturb_each_other(
    settings, make_topic, produce, gather, way
):
    topics = [make_topic(), make_topic()]
    for topic in topics:
        produce(topic, [b"%s %d" % (topic.encode(), i) for i in range(3000)])

    def start(topic):
        return fetch(settings, topic, 0, 0, 3000, max_messages=200, way=way)

    for topic in topics:
        next(start(topic))  # given up after one chunk; its consumer is used again
    together = list(zip(start(topics[0]), start(topics[1]), strict=True))
    for i, topic in enumerate(topics):
        expected = [b"%s %d" % (topic.encode(), n) for n in range(3000)]
        assert [m[2] for m in gather(pair[i] for pair in together)] == expected
