"""Replies are there once, whatever happens to the process that writes them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from service.kafka.fetch import fetch
from service.kafka.handover import Handover
from service.kafka.logs import LogEnds
from service.kafka.markers import last_batch
from service.kafka.sink import FOR_THE_DRIVER, KafkaSink, KafkaWriter, Rows, SinkOptions
from service.kafka.topics import TopicSpec, ensure_topics
from service.kafka.transactions import BatchWriter, Row

ROOT = Path(__file__).parents[3]
WRITE = """
import json, os, sys
from service.kafka.sink import KafkaSink, Rows
from service.kafka.transactions import Row
options, batch, rows = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
writer = KafkaSink({"sink": options}).streamWriter(None, False)
writer.commit([Rows([Row(t, k, v.encode()) for t, k, v in rows]), None], batch)
os._exit(0)  # gone, before Spark could note that the batch is done
"""
DIE_IN_THE_MIDDLE = """
import json, os, sys
from confluent_kafka import Producer
from service.kafka.config import producer_config
options = json.loads(sys.argv[1])
producer = Producer(producer_config(options["kafka"], options["query"]))
producer.init_transactions()
producer.begin_transaction()
for topic, key, value in json.loads(sys.argv[3]):
    producer.produce(topic, value, key=key)
producer.flush()
os._exit(0)
"""


@pytest.fixture
def options(settings, make_topic):
    name = make_topic()
    return SinkOptions(settings, query=name, markers=f"{name}-markers", patience=30)


@pytest.fixture
def committed(settings, gather):
    return lambda topic: replies(settings, topic, gather)


def replies(settings, topic, gather):
    """To the high watermark: a commit returns when it is decided, a moment before readers see
    it, and the fetch waits for that."""
    end = LogEnds(settings, [topic], 30).high_watermarks([(topic, 0)])[topic, 0]
    return [payload for _, _, payload in gather(fetch(settings, topic, 0, 0, end))]


def in_another_process(code, options, batch, rows):
    command = [sys.executable, "-c", code, options.to_json(), str(batch), json.dumps(rows)]
    subprocess.run(command, check=True, cwd=ROOT, timeout=300)


def writer_of(options):
    return BatchWriter(options.kafka, options.query, options.markers, options.patience)


@pytest.mark.integration
def test_a_batch_replayed_by_another_process_writes_nothing_the_second_time(
    options, make_topic, committed
):
    topic = make_topic()
    for batch, rows in [(4, ["a", "b"]), (4, ["a", "b"]), (3, ["old"]), (7, ["c"]), (7, ["c"])]:
        in_another_process(WRITE, options, batch, [(topic, "k", value) for value in rows])
    assert committed(topic) == [b"a", b"b", b"c"]


@pytest.mark.integration
def test_a_process_that_dies_inside_a_transaction_leaves_nothing_behind(
    options, make_topic, committed
):
    topic = make_topic()
    rows = [(topic, "k", "a"), (topic, "k", "b")]
    in_another_process(DIE_IN_THE_MIDDLE, options, 0, rows)
    in_another_process(WRITE, options, 0, rows)
    assert committed(topic) == [b"a", b"b"]


@pytest.mark.integration
def test_a_batch_without_rows_writes_no_marker(options, settings):
    writer = KafkaWriter(options, KafkaSink.too_large)
    writer.commit([Rows([]), None], 0)
    assert LogEnds(settings, [options.markers], 30).partitions() == []


@pytest.mark.integration
def test_a_fenced_producer_comes_back_and_sees_what_the_other_wrote(options, make_topic, committed):
    topic = make_topic()
    # confluent-kafka never frees the exception of a fenced producer, nor what its frames hold: the
    # producers outlive their broker, and would complain about that.
    quiet = replace(options, kafka={**options.kafka, "log_level": 0})
    first, second = writer_of(quiet), writer_of(quiet)
    assert first.write(0, [Row(topic, "k", b"0")], KafkaSink.too_large)
    assert second.write(1, [Row(topic, "k", b"1")], KafkaSink.too_large)
    assert not first.write(1, [Row(topic, "k", b"1 again")], KafkaSink.too_large)
    assert first.write(2, [Row(topic, None, b"2")], KafkaSink.too_large)
    assert committed(topic) == [b"0", b"1", b"2"]


@pytest.mark.integration
def test_an_open_transaction_of_another_query_does_not_hide_a_marker(options, settings, make_topic):
    topic = make_topic()
    writer = writer_of(options)
    assert writer.write(0, [Row(topic, "k", b"0")], KafkaSink.too_large)
    other = Producer({**settings, "transactional.id": f"{topic}-other"})
    other.init_transactions()
    other.begin_transaction()
    other.produce(options.markers, b'{"query": "other", "batch": 9}', key=b"other")
    other.flush()
    assert writer.write(1, [Row(topic, "k", b"1")], KafkaSink.too_large)
    settled = threading.Timer(1.0, other.commit_transaction)
    settled.start()
    assert last_batch(settings, options.markers, options.query, 30) == 1
    settled.join()


@pytest.mark.integration
def test_the_last_marker_is_found_behind_many_of_other_queries(options, settings, produce):
    assert writer_of(options).write(5, [Row(options.query, "k", b"x")], KafkaSink.too_large)
    produce(options.markers, [b'{"query": "other", "batch": %d}' % i for i in range(12_000)])
    assert last_batch(settings, options.markers, options.query, 30) == 5
    assert last_batch(settings, options.markers, "nobody", 30) == -1


@pytest.mark.integration
def test_what_somebody_else_wrote_among_the_markers_is_passed_over(
    options, settings, make_topic, produce, caplog
):
    assert writer_of(options).write(5, [Row(make_topic(), "k", b"x")], KafkaSink.too_large)
    name = json.dumps(options.query).encode()
    foreign = [b"no JSON", b"[1]", b"7", b'{"query": %s}' % name, b'{"batch": 9}', b"[" * 5000]
    wrong = [b'{"query": %s, "batch": %s}' % (name, v) for v in (b'"9"', b"-1", b"true", b"null")]
    produce(options.markers, [*foreign, *wrong, None])
    assert last_batch(settings, options.markers, options.query, 30) == 5
    assert "11 messages that are no markers" in caplog.text


@pytest.mark.integration
def test_rows_too_large_for_the_broker_are_replaced_and_the_others_are_kept(
    options, make_topic, committed
):
    topic = make_topic(max_message_bytes="2000")
    small = [b"%0100d" % i for i in range(100)]  # together more than the topic's limit
    large = [
        json.dumps({"request": f"r-{size}", "op": "export", "value": "x" * size}).encode()
        for size in (5000, 40 << 20)
    ]
    rows = [Row(topic, "k", value) for value in [*small, *large, b"end"]]
    assert writer_of(options).write(0, rows, KafkaSink.too_large)
    found = committed(topic)
    assert found[:100] == small
    faults = [json.loads(value) for value in found[100:102]]
    assert [fault["code"] for fault in faults] == ["too_large"] * 2
    assert [fault["request"] for fault in faults] == ["r-5000", f"r-{40 << 20}"]
    assert found[102:] == [b"end"]


@pytest.mark.integration
def test_a_replacement_that_is_too_large_again_is_dropped(options, make_topic, committed):
    topic = make_topic(max_message_bytes="2000")
    rows = [Row(topic, "k", value) for value in (b"a", b"x" * 5000, b"b")]
    assert writer_of(options).write(0, rows, lambda row: row._replace(value=row.value + b"more"))
    assert committed(topic) == [b"a", b"b"]


@pytest.mark.integration
def test_rows_behind_one_that_is_too_large_do_not_use_up_the_patience(
    options, make_topic, committed
):
    """Kafka never delivers them: the transaction has failed."""
    topic, other = make_topic(), make_topic()
    large = json.dumps({"request": "r", "op": "export", "value": "x" * (20 << 20)}).encode()
    rows = [
        Row(topic, "k", large),
        *(Row(t, "k", b"%0100000d" % i) for i in range(20) for t in (topic, other)),
    ]
    assert writer_of(replace(options, patience=20.0)).write(0, rows, KafkaSink.too_large)
    assert len(committed(topic)) == 21
    assert len(committed(other)) == 20


@pytest.mark.integration
def test_a_broker_restart_between_batches_is_waited_for(own_broker, gather):
    settings = {"bootstrap.servers": own_broker.bootstrap_servers, "log_level": 0}
    ensure_topics(settings, [TopicSpec("out")])
    writer = BatchWriter(settings, "q", "markers", 60)
    assert writer.write(0, [Row("out", "k", b"0")], KafkaSink.too_large)
    own_broker.restart()
    assert writer.write(1, [Row("out", "k", b"1")], KafkaSink.too_large)
    assert replies(settings, "out", gather) == [b"0", b"1"]


def test_a_task_hands_over_its_rows_and_not_more_bytes_than_allowed():
    options = SinkOptions({}, query="q", task_bytes=500_000)
    writer = KafkaWriter(options, lambda row: row._replace(value=b"large"))
    values = [b"x" * 200_000, b"y" * 200_000, b"z" * 200_000, b"w"]
    batch = pa.record_batch(
        [["t"] * 4, ["k", None, "k", "k"], pa.array(values, pa.binary())],
        ["topic", "key", "value"],
    )
    rows = writer.write(iter([batch])).rows
    assert [row.value for row in rows] == [*values[:2], b"large", b"w"]
    assert rows[1] == Row("t", None, values[1])
    assert writer.write(iter([])).rows == []


def test_large_replies_of_a_task_do_not_push_out_what_is_small_or_no_reply():
    writer = KafkaWriter(SinkOptions({}, query="q", task_bytes=500_000), KafkaSink.too_large)
    replies = [json.dumps({"request": f"r{i}", "value": "x" * 200_000}).encode() for i in range(3)]
    others = [b'{"op":"progress","clocks":{}}', b"SDEA" + b"x" * 200_000, b'{"request":"small"}']
    batch = pa.record_batch(
        [["t"] * 6, ["k"] * 6, pa.array([*replies, *others], pa.binary())],
        ["topic", "key", "value"],
    )
    rows = writer.write(iter([batch])).rows
    assert [row.value for row in rows[:2]] == replies[:2]
    assert json.loads(rows[2].value)["request"] == "r2"
    assert [row.value for row in rows[3:]] == others


def test_rows_of_no_topic_are_handed_over_and_never_written(tmp_path):
    options = SinkOptions({}, query="q", handover=str(tmp_path / "figures"))
    writer = KafkaWriter(options, KafkaSink.too_large)
    columns = [[FOR_THE_DRIVER, FOR_THE_DRIVER], ["", ""], [b"one", b"two"]]
    batch = pa.RecordBatch.from_arrays([pa.array(c) for c in columns], ["topic", "key", "value"])
    rows = writer.write(iter([batch]))
    assert rows == Rows([], [b"one", b"two"])
    writer.commit([rows, None], 7)  # there is no Kafka to write to
    assert Handover(tmp_path / "figures").take() == [(7, [b"one", b"two"])]
