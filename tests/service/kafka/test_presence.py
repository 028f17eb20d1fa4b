"""Whether Kafka can be used, asked of a real broker and of nobody."""

import time

import pytest

from service.engine.kafka_watch import KafkaWatch
from service.kafka.admins import admin
from service.kafka.config import admin_config, consumer_config, producer_config
from service.kafka.presence import PresenceQuestion
from service.settings import Settings

NOBODY = {"bootstrap.servers": "127.0.0.1:1"}
PATIENCE = 60.0


def answer(settings, *topics):
    question = PresenceQuestion(settings, topics)
    deadline = time.monotonic() + PATIENCE
    while not question.answered:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return question.problem()


@pytest.mark.integration
def test_a_broker_that_answers_can_be_used_also_if_a_topic_is_missing(settings, make_topic):
    assert answer(settings, make_topic(), "no-such-topic") == ""


def test_without_a_broker_the_reason_is_told_and_nothing_is_printed(capfd):
    assert answer(NOBODY, "t") == "Connect to ipv4#127.0.0.1:1 failed: Connection refused"
    assert capfd.readouterr() == ("", "")


@pytest.mark.integration
def test_questions_share_a_client_until_there_is_a_problem(settings, make_topic):
    topic = make_topic()
    answer(settings, topic)
    first = admin(settings)
    answer(settings, topic)
    assert admin(settings) is first
    answer(NOBODY, topic)
    away = admin(NOBODY)
    answer(NOBODY, topic)
    assert admin(NOBODY) is not away


def test_a_setting_that_librdkafka_does_not_know_is_not_waited_for():
    """Whoever uses Kafka next names it."""
    settings = Settings(bootstrap_servers="127.0.0.1:1", kafka={"no.such.setting": "x"})
    watch = KafkaWatch(settings, pytest.fail, None)
    watch.wait()
    assert watch.outage is None


@pytest.mark.parametrize(
    "config", [admin_config, consumer_config, lambda settings: producer_config(settings, "t")]
)
def test_librdkafka_is_quiet_unless_the_user_wants_to_hear_it(config):
    assert config(NOBODY)["log_level"] == 0
    assert config({**NOBODY, "log_level": 6})["log_level"] == 6
