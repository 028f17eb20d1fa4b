"""A thread that follows a topic of a real broker, through failures and defects."""

import threading
import uuid

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from service.engine.follower import TopicFollower
from service.kafka.config import consumer_config
from service.kafka.topics import TopicSpec, ensure_topics

pytestmark = pytest.mark.integration


class Recorder(TopicFollower):
    """Keeps what it reads; raises what the test says, once, when it meets a value."""

    def __init__(self, broker, topic, raises=None, **options):
        kafka = {"bootstrap.servers": broker.bootstrap_servers}
        super().__init__("recorder", topic, consumer_config(kafka), **options)
        self.raises, self.values = dict(raises or {}), []
        self.polled, self.last = threading.Event(), threading.Event()

    def on_poll(self, messages):
        self.polled.set()
        for message in messages:
            error = self.raises.pop(message.value(), None)
            if error is not None:
                raise error
            self.values.append(message.value())
        if b"last" in self.values:
            self.last.set()
        return bool(messages)


@pytest.fixture
def topic(broker):
    name = f"follow-{uuid.uuid4().hex}"
    ensure_topics({"bootstrap.servers": broker.bootstrap_servers}, [TopicSpec(name)])
    return name


def write(broker, topic, *values):
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def follow(follower, between=lambda: None):
    """Start it, do something once it reads, stop it when it has met the value `last`."""
    follower.start()
    try:
        assert follower.polled.wait(30)
        between()
        assert follower.last.wait(30)
    finally:
        follower.stop()
    return follower.values


def test_a_defect_is_counted_and_its_message_passed_over(broker, topic, caplog):
    write(broker, topic, b"1", b"2", b"last")
    defect = {b"2": ZeroDivisionError("a defect")}
    follower = Recorder(broker, topic, defect, group=topic, first="beginning")
    assert follow(follower) == [b"1", b"last"]
    assert follower.defects == 1
    assert "ZeroDivisionError: a defect" in caplog.text


def test_after_a_failure_of_kafka_the_same_message_comes_again(broker, topic):
    write(broker, topic, b"1", b"2", b"last")
    failure = {b"2": KafkaException(KafkaError(KafkaError._TRANSPORT))}
    follower = Recorder(broker, topic, failure, group=topic, first="beginning")
    assert follow(follower) == [b"1", b"2", b"last"]
    assert follower.defects == 0


def test_a_group_goes_on_where_its_last_run_was(broker, topic):
    write(broker, topic, b"1", b"last")
    assert follow(Recorder(broker, topic, group=topic, first="beginning")) == [b"1", b"last"]
    write(broker, topic, b"2", b"last")
    assert follow(Recorder(broker, topic, group=topic, first="beginning")) == [b"2", b"last"]


@pytest.mark.parametrize("group", ["", "some"])
def test_a_new_follower_begins_at_the_end_of_the_topic(broker, topic, group):
    write(broker, topic, b"before")
    follower = Recorder(broker, topic, group=group and topic)
    assert follow(follower, lambda: write(broker, topic, b"last")) == [b"last"]
