"""The forwarder between two topics of a real broker, as between two sites."""

import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from sde.federation.frames import Content, seal
from sde.records.sites import Contribution, PeerRequest
from service.engine.forwarder import Forwarder
from service.kafka.topics import TopicSpec, ensure_topics
from service.peer_settings import Peer
from service.settings import Settings, Topics

pytestmark = pytest.mark.integration

SECRET = "sixteen letters!"


def frame(kind, key):
    return seal("a", "b", SECRET.encode(), Content(kind(key=key)))


@pytest.fixture
def settings(broker, request):
    name = f"fwd-{len(request.node.name)}"
    servers = broker.bootstrap_servers
    specs = [TopicSpec(f"{name}-{role}") for role in ("out", "peers")]
    ensure_topics({"bootstrap.servers": servers}, specs)
    near = Peer(servers, SECRET, f"{name}-peers")
    far = Peer("127.0.0.1:1", SECRET)
    peers = {"b": near, "down": far}
    topics = Topics(outbound=f"{name}-out")
    return Settings(bootstrap_servers=servers, site="a", topics=topics, peers=peers)


def write(settings, *messages):
    producer = Producer(settings.kafka_config)
    for key, value in messages:
        producer.produce(settings.topics.outbound, value, key)
    assert producer.flush(30) == 0


def found(settings, topic, count, seconds=30):
    """The messages of a topic, once there are so many."""
    consumer = Consumer({**settings.kafka_config, "group.id": "test"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values, deadline = [], time.monotonic() + seconds
    while time.monotonic() < deadline and len(values) < count:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            values.append(message.value())
    extra = consumer.poll(1.0)
    assert extra is None or extra.error() is not None
    consumer.close()
    return values


def forward(settings, until, name="line"):
    forwarder = Forwarder(settings, f"{settings.topics.outbound}-{name}")
    forwarder.start()
    try:
        return until()
    finally:
        forwarder.stop()


def test_requests_and_contributions_go_to_the_topic_of_a_peer_while_another_is_down(settings):
    asked, given = frame(PeerRequest, "q"), frame(Contribution, "c")
    write(settings, ("down", asked), ("b", asked), ("b", given), ("b", b"{}"), ("down", given))
    topic = settings.peers["b"].topic
    assert forward(settings, lambda: found(settings, topic, 2)) == [asked, given]


def test_a_forwarder_that_starts_again_goes_on_where_it_was(settings):
    topic = settings.peers["b"].topic
    first, second = frame(Contribution, "1"), frame(Contribution, "2")
    write(settings, ("b", first))

    def moved_on():
        found(settings, topic, 1)
        time.sleep(1)  # its place is kept after delivery

    forward(settings, moved_on)
    write(settings, ("b", second))
    assert forward(settings, lambda: found(settings, topic, 2)) == [first, second]


def test_frames_wait_while_the_buffer_of_the_producer_is_full(settings):
    """One frame fills it: the others of the same poll are neither lost nor the thread's end."""
    frames = [frame(Contribution, f"c{i}") for i in range(5)]
    write(settings, *(("b", each) for each in frames))
    forwarder = Forwarder(settings, f"{settings.topics.outbound}-full")
    for peer in forwarder._peers:
        peer._producer_config = {**peer._producer_config, "queue.buffering.max.messages": 1}
    forwarder.start()
    try:
        assert found(settings, settings.peers["b"].topic, len(frames)) == frames
        assert [peer.defects for peer in forwarder._peers] == [0, 0]
    finally:
        forwarder.stop()
