"""The reader, called as Spark calls it."""

from __future__ import annotations

import pickle
import time

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from service.kafka.ends_file import EndsFile
from service.kafka.errors import LogTooShort, OffsetsLost
from service.kafka.source import KafkaReader, ReaderOptions
from service.kafka.topics import TopicSpec, ensure_topics

pytestmark = pytest.mark.integration
ALL = ReadAllAvailable()


class Payloads(KafkaReader):
    def blocks(self, messages, source):
        payloads = [messages.payload(i) for i in range(len(messages))]
        yield pa.record_batch([pa.array(payloads, pa.binary())], ["value"])

    def lost(self, lost):
        yield pa.record_batch([pa.array([b"lost %d" % lost.count], pa.binary())], ["value"])


@pytest.fixture
def make_reader(settings):
    def make(*topics, **more):
        options = ReaderOptions(settings, list(topics), discover_seconds=0, patience=20, **more)
        return Payloads(ReaderOptions.from_json(options.to_json()))

    return make


def read(reader, start, end):
    """Plans on the driver, reads with a pickled copy of another reader, as Spark does."""
    copy = pickle.loads(pickle.dumps(reader))
    out = []
    for part in reader.partitions(start, end):
        for batch in copy.read(pickle.loads(pickle.dumps(part))):
            out += batch.column("value").to_pylist()
    return out


def test_a_batch_goes_from_the_start_to_the_end_and_then_there_is_nothing_new(
    make_reader, make_topic, produce
):
    topic = make_topic(2)
    produce(topic, [b"a", b"b"], 0)
    produce(topic, [b"c"], 1)
    reader = make_reader(topic)
    start = reader.initialOffset()
    assert start == {topic: {"0": 0, "1": 0}}
    end = reader.latestOffset(start, ALL)
    assert end == reader.reportLatestOffset() == {topic: {"0": 2, "1": 1}}
    assert read(reader, start, end) == [b"a", b"b", b"c"]
    assert reader.latestOffset(end, ALL) is end
    assert read(reader, end, end) == []


def test_a_paced_reader_admits_its_budget_and_all_when_the_trigger_wants_all(
    make_reader, make_topic, produce
):
    topic = make_topic(2)
    produce(topic, [b"x" * 10] * 300, 0)
    produce(topic, [b"x" * 10] * 100, 1)
    reader = make_reader(topic, target_seconds=1.0, smallest_bytes=1000)
    start = reader.initialOffset()
    limit = reader.getDefaultReadLimit()
    assert isinstance(limit, ReadMaxRows)
    assert reader.latestOffset(start, limit) == {topic: {"0": 75, "1": 25}}
    assert reader.latestOffset(start, ALL) == {topic: {"0": 300, "1": 100}}


def test_the_budget_grows_after_quick_full_batches(make_reader, make_topic, produce):
    topic = make_topic()
    produce(topic, [b"x" * 10] * 2000)
    reader = make_reader(topic, target_seconds=100.0, smallest_bytes=1000)
    at, moves = reader.initialOffset(), []
    for _ in range(3):
        reached = reader.latestOffset(at, reader.getDefaultReadLimit())
        moves.append(reached[topic]["0"] - at[topic]["0"])
        at = reached
    assert moves == [100, 400, 1500]


def test_while_the_stop_file_exists_nothing_new_is_admitted(
    make_reader, make_topic, produce, tmp_path
):
    topic = make_topic()
    produce(topic, [b"a"])
    reader = make_reader(topic, stop_file=str(tmp_path / "stop"))
    start = reader.initialOffset()
    (tmp_path / "stop").touch()
    assert reader.latestOffset(start, ALL) is start
    (tmp_path / "stop").unlink()
    assert reader.latestOffset(start, ALL) == {topic: {"0": 1}}


def test_while_the_ends_file_exists_a_batch_ends_where_it_says(
    make_reader, make_topic, produce, tmp_path
):
    topic = make_topic(2)
    produce(topic, [b"a"] * 9, 0)
    produce(topic, [b"b"] * 9, 1)
    file = EndsFile(tmp_path / "ends.json")
    reader = make_reader(topic, ends_file=str(tmp_path / "ends.json"), target_seconds=1.0)
    start = reader.initialOffset()
    file.write({(topic, 0): 3, ("another topic", 0): 7})
    reached = reader.latestOffset(start, reader.getDefaultReadLimit())
    assert reached == {topic: {"0": 3, "1": 0}}
    assert reader.latestOffset(reached, ALL) is reached
    assert reader.reportLatestOffset() == {topic: {"0": 9, "1": 9}}
    file.write({(topic, 0): 2, (topic, 1): 1})  # never back
    assert reader.latestOffset(reached, ALL) == {topic: {"0": 3, "1": 1}}
    file.remove()
    assert reader.latestOffset(reached, ALL) == {topic: {"0": 9, "1": 9}}


def test_a_topic_that_is_not_there_yet_counts_as_empty_and_is_read_when_it_comes(
    make_reader, make_topic, produce, settings
):
    topic = make_topic()
    later = f"{topic}-later"
    reader = make_reader(topic, later)
    start = reader.initialOffset()
    assert start == {topic: {"0": 0}}
    ensure_topics(settings, [TopicSpec(later)])
    produce(later, [b"a", b"b"])
    entered = reader.latestOffset(start, ALL)
    assert entered == {topic: {"0": 0}, later: {"0": 0}}
    assert read(reader, start, entered) == []
    end = reader.latestOffset(entered, ALL)
    assert read(reader, entered, end) == [b"a", b"b"]


def test_partitions_added_later_are_read_from_their_first_message(
    make_reader, make_topic, produce, settings
):
    topic = make_topic()
    reader = make_reader(topic)
    start = reader.initialOffset()
    admin = AdminClient(settings)
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result()
    produce(topic, [b"new"], 1)
    deadline = time.monotonic() + 120
    while (entered := reader.latestOffset(start, ALL)) == start:
        assert time.monotonic() < deadline
    assert read(reader, entered, reader.latestOffset(entered, ALL)) == [b"new"]


def test_lost_offsets_stop_the_query_with_a_clear_error(
    make_reader, make_topic, produce, delete_before
):
    topic = make_topic()
    produce(topic, [b"%d" % i for i in range(10)])
    delete_before(topic, 0, 6)
    reader = make_reader(topic)
    with pytest.raises(OffsetsLost, match=r"offset 2 .*before offset 6.*on_lost"):
        reader.partitions({topic: {"0": 2}}, {topic: {"0": 10}})


def test_lost_offsets_are_reported_where_they_would_have_come_when_going_on(
    make_reader, make_topic, produce, delete_before
):
    topic = make_topic()
    produce(topic, [b"%d" % i for i in range(10)])
    reader = make_reader(topic, on_lost="continue")
    planned = reader.partitions({topic: {"0": 2}}, {topic: {"0": 10}})
    delete_before(topic, 0, 6)
    expected = [b"lost 4", b"6", b"7", b"8", b"9"]
    assert read(reader, {topic: {"0": 2}}, {topic: {"0": 10}}) == expected
    late = [v for b in reader.read(planned[0]) for v in b.column("value").to_pylist()]
    assert late == expected  # lost between planning and reading
    assert read(reader, {topic: {"0": 1}}, {topic: {"0": 5}}) == [b"lost 4"]


def test_lost_offsets_of_a_topic_that_may_lose_them_do_not_stop_the_query(
    make_reader, make_topic, produce, delete_before
):
    topic = make_topic()
    produce(topic, [b"%d" % i for i in range(4)])
    delete_before(topic, 0, 3)
    reader = make_reader(topic, may_lose=[topic])
    assert read(reader, {topic: {"0": 1}}, {topic: {"0": 4}}) == [b"lost 2", b"3"]


def test_a_log_shorter_than_what_was_read_stops_or_is_read_anew(make_reader, make_topic, produce):
    topic = make_topic()
    produce(topic, [b"a", b"b"])
    start = {topic: {"0": 50}}
    with pytest.raises(LogTooShort, match=r"offset 50 .*ends at offset 2"):
        make_reader(topic).latestOffset(start, ALL)
    reader = make_reader(topic, on_lost="continue")
    entered = reader.latestOffset(start, ALL)
    assert entered == {topic: {"0": 0}}
    assert read(reader, start, entered) == []
    assert read(reader, entered, reader.latestOffset(entered, ALL)) == [b"a", b"b"]
