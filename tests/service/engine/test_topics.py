"""Topics that are there already fit, or the engine does not start."""

from dataclasses import replace

import pytest

from service.engine.topics import prepare_topics
from service.kafka.topics import TopicSpec, ensure_topics
from service.settings import Settings, Topics
from service.startup_errors import TopicError

pytestmark = pytest.mark.integration


@pytest.fixture
def address(broker):
    return {"bootstrap.servers": broker.bootstrap_servers}


def test_a_topic_that_needs_one_order_is_refused_with_several_partitions(address):
    ensure_topics(address, [TopicSpec("wide", partitions=3), TopicSpec("narrow")])
    ensure_topics(address, [TopicSpec("narrow", one_order=True)])
    with pytest.raises(TopicError, match=r"'wide' has 3 partitions, expected one.*another topic"):
        ensure_topics(address, [TopicSpec("wide", one_order=True)])


def test_a_topic_that_takes_too_small_messages_is_refused(address):
    ensure_topics(address, [TopicSpec("tight", config={"max.message.bytes": "1000"})])
    with pytest.raises(TopicError, match=r"set its max\.message\.bytes to 5000"):
        ensure_topics(address, [TopicSpec("tight", needed_bytes=5000)])


def test_topics_of_an_engine_have_the_brokers_time_and_others_are_named(broker, address):
    topics = Topics(data=("own-data", "foreign"), requests="own-requests", union="own-union")
    topics = replace(topics, commits="own-commits", outbound="own-outbound")
    settings = Settings(bootstrap_servers=broker.bootstrap_servers, topics=topics)
    ensure_topics(address, [TopicSpec("foreign")])
    lines = []
    prepare_topics(settings, lines.append)
    prepare_topics(settings, lines.append)
    assert [line.split(":")[0] for line in lines] == [
        "the times of messages in foreign are those of their producers"
    ] * 2
