"""What librdkafka has to say goes to the program's logging, and not too much of it."""

import logging
import subprocess
import sys

import pytest

from clients.kafka_log import NAME, OncePerMinute

AWAY = "FAIL [rdkafka#producer-1] [thrd:localhost:1/bootstrap]: Connect failed"
AS_NODE = "FAIL [rdkafka#consumer-2] [thrd:localhost:1/7]: Connect failed (after 3ms)"
SECURE = "FAIL [rdkafka#consumer-2] [thrd:sasl_ssl://localhost:1/7]: Connect failed"
DOWN = "ERROR [rdkafka#producer-1] [thrd:localhost:1/bootstrap]: 1/1 brokers are down"
OTHER = "FAIL [rdkafka#producer-1] [thrd:localhost:2/bootstrap]: Connect failed"
SETTING = "CONFWARN [rdkafka#producer-1] [thrd:app]: a setting that is ignored"


@pytest.fixture
def clock():
    return [1000.0]


@pytest.fixture
def passes(clock):
    once = OncePerMinute(lambda: clock[0])

    def passes(text, level=logging.ERROR):
        return once.filter(logging.LogRecord(NAME, level, "", 0, "%s", (text,), None))

    return passes


def test_a_broker_that_is_away_has_a_line_a_minute_whatever_clients_it_has(passes, clock):
    assert passes(AWAY)
    for seconds in (0, 1, 58):
        clock[0] += seconds
        assert not any(passes(text) for text in (AWAY, AS_NODE, SECURE, DOWN))
    clock[0] += 1
    assert passes(AS_NODE)
    assert not passes(AWAY)


def test_other_brokers_and_other_texts_have_lines_of_their_own(passes):
    assert all(passes(text) for text in (AWAY, OTHER, SETTING, f"{SETTING}, too"))
    assert not passes(SETTING)


def test_what_was_asked_for_by_debug_passes(passes):
    assert all(passes(AWAY, logging.DEBUG) for _ in range(3))


def test_what_it_remembers_is_bounded(passes):
    for number in range(3000):
        assert passes(f"text {number}")
    assert passes("text 0")


@pytest.mark.parametrize(("setup", "lines"), [("", 0), ("logging.basicConfig()", 1)])
def test_a_client_whose_broker_is_away_writes_a_line_at_most_to_standard_error(setup, lines):
    code = f"""
import logging, time
{setup}
from clients import Client, Unreachable
for _ in range(2):
    try:
        Client("localhost:1", timeout=1).list()
    except Unreachable as error:
        print(error)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.stdout.count("Kafka at localhost:1") == 2
    assert len(ended.stderr.splitlines()) == lines, ended.stderr
