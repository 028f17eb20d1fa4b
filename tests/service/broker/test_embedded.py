"""The embedded broker: every test here runs the real one."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
import weakref
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource

from service.broker import embedded as broker_module
from service.broker.embedded import EmbeddedBroker
from service.kafka.admins import admin
from service.kafka.topics import TopicSpec, ensure_topics
from service.startup_errors import BrokerError, JavaError, TopicError

pytestmark = pytest.mark.integration

PATIENCE = 60.0


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory):
    """To restart, and to stop if it runs again when the test ends: a start takes seconds."""
    with EmbeddedBroker(tmp_path_factory.mktemp("broker")) as running:
        yield running


def address(broker: EmbeddedBroker) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


def write(broker: EmbeddedBroker, topic: str, payloads: list[bytes]) -> None:
    producer = Producer({**address(broker), "message.max.bytes": 16 * 1024 * 1024})
    failures = []
    for payload in payloads:
        producer.produce(topic, payload, on_delivery=lambda error, _: failures.append(error))
    assert producer.flush(PATIENCE) == 0
    assert failures == [None] * len(payloads)


def read(broker: EmbeddedBroker, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({**address(broker), "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages = []
    deadline = time.monotonic() + PATIENCE
    while len(messages) < count and time.monotonic() < deadline:
        messages += [m for m in consumer.consume(count, timeout=1) if m.error() is None]
    consumer.close()
    return [message.value() for message in messages]


def wait_until(condition) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def port_is_closed(bootstrap_servers: str) -> bool:
    host, _, port = bootstrap_servers.partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) != 0


def test_what_is_written_can_be_read_even_10_mb_in_one_message(broker):
    ensure_topics(address(broker), [TopicSpec("large")])
    payloads = [b"small", b"x" * 10_000_000]

    write(broker, "large", payloads)

    assert read(broker, "large", 2) == payloads


def test_missing_topics_are_created_as_specified(broker):
    spec = TopicSpec("specified", partitions=3, config={"retention.ms": "3600000"})

    ensure_topics(address(broker), [spec, TopicSpec("plain")])

    admin = AdminClient(address(broker))
    topics = admin.list_topics(timeout=PATIENCE).topics
    assert len(topics["specified"].partitions) == 3
    assert len(topics["plain"].partitions) == 1
    resource = ConfigResource(ConfigResource.Type.TOPIC, "specified")
    config = admin.describe_configs([resource])[resource].result(PATIENCE)
    assert config["retention.ms"].value == "3600000"


def test_existing_topics_are_left_alone(broker):
    ensure_topics(address(broker), [TopicSpec("kept", partitions=2)])
    write(broker, "kept", [b"here"])

    ensure_topics(address(broker), [TopicSpec("kept", partitions=5), TopicSpec("added")])

    topics = AdminClient(address(broker)).list_topics(timeout=PATIENCE).topics
    assert len(topics["kept"].partitions) == 2
    assert "added" in topics


def test_a_topic_the_broker_refuses_is_named_with_the_reason(broker):
    with pytest.raises(TopicError, match=r"name='no/such'.*(?i:invalid|illegal)"):
        ensure_topics(address(broker), [TopicSpec("no/such")])


def test_a_setting_librdkafka_does_not_know_is_named(broker):
    with pytest.raises(TopicError, match=r"no\.such\.setting"):
        ensure_topics({**address(broker), "no.such.setting": "x"}, [])


def test_data_and_address_are_kept_over_a_restart(own_broker):
    ensure_topics(address(own_broker), [TopicSpec("kept")])
    write(own_broker, "kept", [b"one", b"two"])
    before = own_broker.bootstrap_servers

    own_broker.restart()

    assert own_broker.bootstrap_servers == before
    assert read(own_broker, "kept", 2) == [b"one", b"two"]


def test_a_broker_that_stops_leaves_no_client_that_looks_for_it(own_broker):
    known = admin(address(own_broker))
    assert known.list_topics(timeout=PATIENCE).brokers
    client = weakref.ref(known)
    del known

    own_broker.restart()

    assert client() is None


def test_data_is_kept_when_the_broker_itself_is_killed(tmp_path):
    killed = EmbeddedBroker(tmp_path)
    killed.start()
    ensure_topics(address(killed), [TopicSpec("kept")])
    write(killed, "kept", [b"one", b"two"])
    killed.kill()
    wait_until(lambda: port_is_closed(killed.bootstrap_servers))

    with EmbeddedBroker(tmp_path) as next_run:
        assert read(next_run, "kept", 2) == [b"one", b"two"]


def test_a_broker_moves_when_its_port_was_taken_meanwhile(own_broker):
    own_broker.stop()
    before = own_broker.bootstrap_servers
    with socket.create_server(("127.0.0.1", int(before.partition(":")[2]))):
        own_broker.start()

    assert own_broker.bootstrap_servers != before
    ensure_topics(address(own_broker), [TopicSpec("moved")])


def test_one_folder_has_one_broker(own_broker):
    expected = f"is in use by the broker of process {os.getpid()}"
    with pytest.raises(BrokerError, match=expected):
        EmbeddedBroker(own_broker.log_file.parent).start()


def test_the_broker_dies_with_a_killed_service_and_frees_its_folder(tmp_path):
    script = (
        "import sys, time, pathlib\n"
        "from service.broker.embedded import EmbeddedBroker\n"
        "broker = EmbeddedBroker(pathlib.Path(sys.argv[1]))\n"
        "broker.start()\n"
        "print(broker.bootstrap_servers, flush=True)\n"
        "time.sleep(600)\n"
    )
    service = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
    )
    with service:
        bootstrap_servers = service.stdout.readline().strip()
        assert not port_is_closed(bootstrap_servers)
        service.send_signal(signal.SIGKILL)

    wait_until(lambda: port_is_closed(bootstrap_servers))
    with EmbeddedBroker(tmp_path) as next_run:
        ensure_topics(address(next_run), [TopicSpec("usable")])


def test_a_broker_that_cannot_run_shows_the_end_of_its_log(monkeypatch, tmp_path):
    monkeypatch.setattr(broker_module, "_JVM_OPTIONS", ("-XX:NoSuchOption",))

    with pytest.raises(BrokerError, match=r"(?s)cannot be formatted.*NoSuchOption"):
        EmbeddedBroker(tmp_path).start()


def test_a_cluster_id_is_never_taken_for_an_option(monkeypatch, tmp_path):
    dashes_in_base64 = uuid.UUID(bytes=b"\xfb\xef\xbe" * 5 + b"\xfb")
    monkeypatch.setattr(broker_module.uuid, "uuid4", lambda: dashes_in_base64)

    with EmbeddedBroker(tmp_path) as started:
        ensure_topics(address(started), [TopicSpec("usable")])


def test_without_java_the_broker_says_so(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(JavaError, match="install Java 17 or newer"):
        EmbeddedBroker(tmp_path).start()


def test_a_broker_that_was_never_started_has_no_address(tmp_path):
    with pytest.raises(BrokerError, match="start it first"):
        _ = EmbeddedBroker(tmp_path).bootstrap_servers
