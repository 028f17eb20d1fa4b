"""The Kafka transport and the commands about Kafka, on a real broker.

The engine is a thread here that reads requests and writes canned replies in transactions.
"""

import gc
import itertools
import json
import threading
import time
import uuid
from collections.abc import Iterator

import orjson
import pyarrow as pa
import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from pyarrow import parquet

import clients.kafka
import clients.topic_reader
from clients import (
    AnswerTimeout,
    Client,
    DeliveryFailed,
    KafkaTransport,
    Topics,
    UnknownKind,
    Unreachable,
)
from clients.cli import main
from clients.dead_letters import recent_faults
from clients.tuples import decode

pytestmark = pytest.mark.integration


def make_topics(broker, *new: NewTopic) -> None:
    """Return when clients can find them: a busy broker confirms a topic before it shows it."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.create_topics(list(new)).values():
        future.result(30)
    for topic in new:
        while admin.list_topics(topic.topic, 30).topics[topic.topic].error is not None:
            time.sleep(0.05)


@pytest.fixture
def topics(broker) -> Topics:
    prefix = f"clients-{uuid.uuid4().hex[:8]}"
    names = Topics(*(f"{prefix}-{role}" for role in Topics.__slots__))
    partitions = {names.requests: 1, names.data: 3, names.output: 2, names.dead_letters: 1}
    make_topics(broker, *(NewTopic(n, p, 1) for n, p in partitions.items()))
    return names


class CannedEngine:
    """Answers every request of the topic with `reply`, each batch in a transaction."""

    def __init__(self, servers: str, topics: Topics) -> None:
        self.reply = lambda request: {"uid": request.get("uid"), "value": request.get("query")}
        self._topics = topics
        self._consumer = Consumer({"bootstrap.servers": servers, "group.id": "engine"})
        self._consumer.assign([TopicPartition(topics.requests, 0, 0)])
        self._producer = Producer(
            {"bootstrap.servers": servers, "transactional.id": topics.output, "linger.ms": 0}
        )
        self._producer.init_transactions()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            messages = self._consumer.consume(1000, 0.02)
            requests = [orjson.loads(m.value()) for m in messages if m.error() is None]
            if requests:
                # What an aborted transaction wrote must never be seen.
                self._write(requests, lambda request: {"value": "aborted"})
                self._producer.abort_transaction()
                self._write(requests, self.reply)
                self._producer.commit_transaction()

    def _write(self, requests, reply) -> None:
        self._producer.begin_transaction()
        for request in requests:
            head = {"id": request["id"] + "/0", "request": request["id"], "op": request["op"]}
            message = orjson.dumps({**head, "status": "ok", **reply(request)})
            for _ in range(2):  # each reply twice: duplicates must be dropped
                self._producer.produce(self._topics.output, message, key=str(request.get("uid")))
        self._producer.produce(self._topics.output, b"not json", partition=0)
        self._producer.flush()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._consumer.close()


@pytest.fixture
def engine(broker, topics) -> Iterator[CannedEngine]:
    running = CannedEngine(broker.bootstrap_servers, topics)
    yield running
    running.close()


@pytest.fixture
def sde(broker, topics) -> Iterator[Client]:
    with Client(KafkaTransport(broker.bootstrap_servers, topics=topics), timeout=120) as client:
        yield client


def all_data(broker, topics) -> list[list[bytes]]:
    """The messages of each partition of the data topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "test",
            "enable.auto.commit": False,
        }
    )
    found = []
    for number in range(3):
        partition = TopicPartition(topics.data, number, 0)
        _, end = consumer.get_watermark_offsets(partition, 10)
        consumer.assign([partition])
        found.append([m.value() for m in consumer.consume(end, 20)] if end else [])
    consumer.close()
    return found


def test_a_request_is_answered(sde, engine) -> None:
    trades = sde.create("count_min", dataset="d", uid="trades", epsilon=0.1)
    assert trades.estimate(key="AAPL").value == {"key": "AAPL"}
    assert trades.estimate(key="IBM").value == {"key": "IBM"}


def test_a_fault_is_raised_as_its_error(sde, engine) -> None:
    engine.reply = lambda r: {"status": "error", "code": "unknown_kind", "message": "no"}
    with pytest.raises(UnknownKind):
        sde.create("nope", dataset="d")


def test_five_thousand_requests_are_in_flight_at_once(sde, engine) -> None:
    pending = [sde.submit_create("fm", dataset="d", uid=f"u{n}") for n in range(5000)]
    assert [each.result().uid for each in pending] == [f"u{n}" for n in range(5000)]


def test_the_answers_of_a_watch_are_read_as_they_come(broker, topics, sde, engine) -> None:
    engine.reply = lambda request: {}
    with sde.watch("u", every="1s", timeout=120) as watch:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in (1, 1, 2, 2, 3):
            told = {"request": watch.id, "op": "watch", "status": "ok", "number": number}
            producer.produce(topics.output, orjson.dumps(told), key=watch.id)
        producer.flush()
        assert [next(watch).number for _ in range(3)] == [1, 2, 3]
    assert list(watch) == []


def test_answers_from_before_the_connection_are_not_read(broker, topics, sde, engine) -> None:
    sde.submit("list", id="same").result()
    engine.reply = lambda request: {"value": "new"}
    with Client(KafkaTransport(broker.bootstrap_servers, topics=topics), timeout=120) as second:
        assert second.submit("list", id="same").result()["value"] == "new"


def test_answers_on_a_partition_added_later_are_read(
    broker, topics, sde, engine, monkeypatch
) -> None:
    monkeypatch.setattr(clients.topic_reader, "SECONDS_BETWEEN_LOOKS_FOR_PARTITIONS", 0.1)
    sde.estimate("u")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_partitions([NewPartitions(topics.output, 3)])[topics.output].result(30)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    engine.reply = lambda request: {"request": "of nobody"}
    pending = sde.submit("estimate", uid="u")
    reply = {"request": pending.request["id"], "status": "ok", "value": "from the new partition"}
    producer.produce(topics.output, orjson.dumps(reply), partition=2)
    producer.flush()
    assert pending.result()["value"] == "from the new partition"


def test_silence_is_a_timeout(broker, topics) -> None:
    transport = KafkaTransport(broker.bootstrap_servers, topics=topics)
    with Client(transport, timeout=0.2) as sde, pytest.raises(AnswerTimeout):
        sde.list()


def test_no_broker_is_told_with_the_address() -> None:
    with (
        Client("127.0.0.1:1", timeout=0.5) as sde,
        pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"),
    ):
        sde.list()


def test_a_broker_without_the_topics_is_told(broker) -> None:
    names = Topics(output="no-such-output", data="no-such-data")
    with Client(broker.bootstrap_servers, topics=names) as sde:
        with pytest.raises(Unreachable, match=r"no-such-output.*topics= of Client, --topic"):
            sde.list()
        with pytest.raises(Unreachable, match=r"no-such-data.*topics= of Client, --topic"):
            sde.send_many("d", [("s", {})])


def test_settings_librdkafka_does_not_know_are_named(broker) -> None:
    transport = KafkaTransport(broker.bootstrap_servers, settings={"no.such.setting": 1})
    with Client(transport) as sde, pytest.raises(Unreachable, match=r"no\.such\.setting"):
        sde.list()


def numbers_by_place(broker, topics) -> dict[tuple[int, str], list[int]]:
    """The field `n` of the tuples of each partition and stream, in their order there."""
    places: dict[tuple[int, str], list[int]] = {}
    for partition, messages in enumerate(all_data(broker, topics)):
        for one in (one for message in messages for one in decode(message)):
            places.setdefault((partition, one["stream"]), []).append(one["values"]["n"])
    return places


def test_a_stream_keeps_its_order_in_one_partition_however_it_is_sent(
    broker, topics, sde, tmp_path
) -> None:
    numbers = itertools.count()

    def rows(count):
        return [(f"s{n % 20}", n) for n in itertools.islice(numbers, count)]

    def table(count):
        streams, n = zip(*rows(count), strict=True)
        return pa.table({"stream": streams, "n": n})

    for stream, n in rows(300):
        sde.send("d", stream, {"n": n})
    assert sde.send_table("d", table(200_000)) == 200_000
    for stream, n in rows(300):
        sde.send("d", stream, {"n": n})
    assert sde.send_many("d", ((stream, {"n": n}) for stream, n in rows(10_000))) == 10_000
    parquet.write_table(table(60_000), tmp_path / "ticks.parquet")
    assert sde.send_file("d", tmp_path / "ticks.parquet") == 60_000
    for stream, n in rows(400):
        sde.send("d", stream, {"n": n})
    sde.flush()
    places = numbers_by_place(broker, topics)
    assert {partition for partition, _ in places} == {0, 1, 2}
    assert {stream: n for (_, stream), n in places.items()} == {
        f"s{first}": list(range(first, next(numbers), 20)) for first in range(20)
    }
    assert len(places) == 20


def test_a_client_keeps_to_the_partitions_it_found_first(broker, topics, sde) -> None:
    for n in range(100):
        sde.send("d", f"s{n % 20}", {"n": n})
    sde.flush()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_partitions([NewPartitions(topics.data, 8)])[topics.data].result(30)
    for n in range(100, 200):
        sde.send("d", f"s{n % 20}", {"n": n})
    sde.flush()
    assert sde.send_many("d", ((f"s{n % 20}", {"n": n}) for n in range(200, 300))) == 100
    places = numbers_by_place(broker, topics)
    assert sorted(map(tuple, places.values())) == [tuple(range(n, 300, 20)) for n in range(20)]


def test_tuples_the_broker_does_not_take_are_an_error(broker, topics) -> None:
    limit = {"message.timeout.ms": 300, "message.max.bytes": 1000}
    sde = Client(KafkaTransport(broker.bootstrap_servers, topics=topics, settings=limit))
    with pytest.raises(DeliveryFailed, match="bytes for topic"):
        sde.send("d", "s", {"text": "x" * 2000})
    sde.close()
    small = NewTopic(f"{topics.data}-small", 1, 1, config={"max.message.bytes": "1000"})
    make_topics(broker, small)
    sde = Client(KafkaTransport(broker.bootstrap_servers, topics=Topics(data=small.topic)))
    sde.send("d", "s", {"text": "x" * 2000})
    with pytest.raises(DeliveryFailed, match="1 messages for topic"):
        sde.flush()
    sde.close()


def test_tuples_without_a_broker_are_an_error_that_tells_its_address() -> None:
    with (
        Client("127.0.0.1:1", timeout=0.5) as sde,
        pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"),
    ):
        sde.send("d", "s", {})


def test_a_request_the_broker_does_not_take_fails_before_the_time_out(own_broker) -> None:
    names = Topics()
    admin = AdminClient({"bootstrap.servers": own_broker.bootstrap_servers})
    for future in admin.create_topics([NewTopic(names.output, 1, 1)]).values():
        future.result(30)
    settings = {"message.timeout.ms": 500}
    transport = KafkaTransport(own_broker.bootstrap_servers, settings=settings)
    with Client(transport, timeout=60) as sde:
        sde.watching("any")  # it listens from here on
        own_broker.stop()
        with pytest.raises(DeliveryFailed, match="list"):
            sde.list()


def test_a_closed_client_keeps_no_connection_to_the_broker(broker, topics) -> None:
    def producers() -> int:
        return sum(isinstance(each, Producer) for each in gc.get_objects())

    gc.collect()  # what earlier tests left must not go meanwhile
    before = producers()
    sde = Client(KafkaTransport(broker.bootstrap_servers, topics=topics), timeout=0.01)
    sde.send("d", "s", {"n": 1})
    with pytest.raises(AnswerTimeout):
        sde.list()
    assert producers() == before + 2
    sde.close()
    assert producers() == before


# -- the command line -------------------------------------------------------------------------


@pytest.fixture
def run(broker, topics):
    def invoke(*args):
        names = [f"--topic={role}={getattr(topics, role)}" for role in Topics.__slots__]
        words = [args[0], "--bootstrap-servers", broker.bootstrap_servers, *names, *args[1:]]
        result = CliRunner().invoke(main, words)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def test_the_command_line_asks_and_sends(run, engine, broker, topics, tmp_path) -> None:
    assert run("create", "count_min", "--dataset", "d", "--uid", "u").stdout == "u\n"
    assert "AAPL" in run("estimate", "u", "key=AAPL").stdout
    path = tmp_path / "ticks.csv"
    path.write_text("stream,x\n" + "s,1\n" * 10)
    assert run("send", str(path), "--dataset", "d").stdout.startswith("10 tuples")
    listed = json.loads(run("topics", "--json").stdout)
    ours = {row["topic"]: row for row in listed}
    assert ours[topics.data] == {
        "topic": topics.data,
        "role": "data",
        "partitions": 3,
        "messages": 1,
    }
    assert ours[topics.requests]["messages"] == 2
    assert topics.data in run("topics").stdout.replace("\n", "")


def test_tail_shows_answers_and_dead_letters(run, broker, topics) -> None:
    answer = {"id": "r/0", "request": "r", "op": "estimate", "uid": "u", "status": "ok"}
    refused = {"request": "r2", "op": "delete", "status": "error", "code": "c", "message": "m"}
    infore = {"estimation": 7, "uid": 1110, "relatedRequestIdentifier": "x"}
    letter = {"topic": "t", "partition": 0, "offset": 9, "line": 2, "code": "bad_json"}
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for message in ({**answer, "value": 2, "lower": 1, "upper": 3}, refused, infore):
        producer.produce(topics.output, orjson.dumps(message), partition=0)
    producer.produce(topics.output, b"\xff", partition=0)
    producer.produce(
        topics.dead_letters, orjson.dumps({**letter, "message": "m", "excerpt": "e30="})
    )
    producer.flush()
    shown = run("tail", "--from-beginning", "--count", "4").stdout.splitlines()
    assert shown == [
        "r  estimate  u  ok  2  [1 .. 3]",
        "r2  delete  error  c: m",
        "x  1,110  7",
        "�",
    ]
    raw = run("tail", "--from-beginning", "--count", "1", "--json").stdout
    assert json.loads(raw)["request"] == "r"
    dead = run("tail", "--dead-letters", "--from-beginning", "--count", "1").stdout
    assert dead == "t[0]@9 line 2  bad_json: m  '{}'\n"


def test_the_faults_of_late_are_counted_by_their_codes(broker, topics):
    settings = {"bootstrap.servers": broker.bootstrap_servers}
    assert recent_faults(settings, topics.dead_letters, 60) == {}
    producer = Producer({**settings, "transactional.id": topics.dead_letters})
    producer.init_transactions()
    hour_ago = round((time.time() - 3600) * 1000)
    for codes, at in ((["untrusted"] * 5, hour_ago), (["late", "bad_json", "late"], 0)):
        producer.begin_transaction()
        for code in codes:
            letter = orjson.dumps({"code": code, "excerpt": ""})
            producer.produce(topics.dead_letters, letter, timestamp=at)
            reply = orjson.dumps({"status": "ok", "value": {"code": code}})
            producer.produce(topics.dead_letters, reply, timestamp=at)
        producer.commit_transaction()
    assert recent_faults(settings, topics.dead_letters, 60) == {"late": 2, "bad_json": 1}


def test_commands_without_a_broker_end_with_1() -> None:
    words = ["list", "--bootstrap-servers", "127.0.0.1:1", "--timeout", "0.5"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    assert "127.0.0.1:1" in result.stderr
