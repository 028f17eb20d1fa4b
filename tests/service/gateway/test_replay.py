"""Answers are read again from the output topic, within bounds, once for all who ask."""

import asyncio
import json
import threading
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from clients.errors import Unreachable
from service.gateway import replay, topic_tail
from service.gateway.replay import Heard, KafkaReplay, SharedReplay, Tail


class Message:
    def __init__(self, partition, value=None, time=0):
        self._partition, self._value, self._time = partition, value, time

    def error(self):
        return KafkaError(KafkaError._PARTITION_EOF) if self._value is None else None

    def partition(self):
        return self._partition

    def value(self):
        return self._value

    def timestamp(self):
        return 1, self._time


class Topic:
    """A topic in place of Kafka's: a list of messages for each partition."""

    def __init__(self, *partitions, ends=True):
        self.partitions, self.ends = partitions, ends
        self.began, self.closed = {}, False

    def __call__(self, config):
        assert config["enable.partition.eof"] is True
        assert config["isolation.level"] == "read_committed"
        return self

    def list_topics(self, topic, seconds):
        found = SimpleNamespace(partitions=dict.fromkeys(range(len(self.partitions))))
        return SimpleNamespace(topics={topic: found})

    def get_watermark_offsets(self, place, seconds):
        return 0, len(self.partitions[place.partition])

    def assign(self, places):
        self.began = {place.partition: place.offset for place in places}
        self.left = []
        for number, start in self.began.items():
            values = self.partitions[number][start:]
            self.left += [Message(number, value, time) for time, value in values]
            self.left += [Message(number)] if self.ends else []

    def consume(self, most, seconds):
        now, self.left = self.left[:most], self.left[most:]
        return now

    def close(self):
        self.closed = True


def said(time, **reply):
    return time, json.dumps(reply).encode()


def read(topic, *watches, monkeypatch):
    monkeypatch.setattr(topic_tail, "Consumer", topic)
    found = KafkaReplay({"bootstrap.servers": "nowhere"}, "out")(frozenset(watches))
    assert topic.closed
    return found


OTHERS = [
    (1, b"nonsense with w"),
    (2, b"[]"),
    said(3, request=["w"]),
    said(4, request="ww"),
    said(4, request="w", number="x"),
]


@pytest.mark.parametrize("more", [0, 20])
def test_the_messages_about_some_watches_are_found(monkeypatch, more):
    topic = Topic([*OTHERS, said(5, request="w", number=1)], [said(6, request="v", number=7)])
    found = read(topic, "w", "v", *(f"x{n}" for n in range(more)), monkeypatch=monkeypatch)
    assert found.is_whole
    assert [(each.time, each.reply["request"]) for each in found.heard] == [(5, "w"), (6, "v")]


def test_only_the_last_messages_are_read(monkeypatch):
    monkeypatch.setattr(replay, "_MOST_MESSAGES", 4)
    topic = Topic([said(n, request="w", number=n) for n in range(9)], [])
    found = read(topic, "w", monkeypatch=monkeypatch)
    assert topic.began == {0: 7, 1: 0}
    assert [each.time for each in found.heard] == [7, 8]


def test_what_takes_too_long_is_not_whole(monkeypatch):
    monkeypatch.setattr(topic_tail, "_MOST_SECONDS", 0.05)
    topic = Topic([said(1, request="w", number=1)], ends=False)
    found = read(topic, "w", monkeypatch=monkeypatch)
    assert (len(found.heard), found.is_whole) == (1, False)


def test_a_kafka_that_is_away_is_told(monkeypatch):
    topic = Topic([])

    def fail(*args):
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    topic.list_topics = fail
    with pytest.raises(Unreachable, match="topic 'out'"):
        read(topic, "w", monkeypatch=monkeypatch)
    assert topic.closed


def test_one_reading_serves_all_who_came_while_another_went_on():
    asked, go_on = [], threading.Event()

    def tail(watches):
        asked.append(watches)
        go_on.wait(10)
        return Tail([Heard(1, {"request": watch}) for watch in sorted(watches)], True)

    async def several():
        shared = SharedReplay(tail)
        first = asyncio.create_task(shared.tail(frozenset("a")))
        while not asked:
            await asyncio.sleep(0.01)
        others = [asyncio.create_task(shared.tail(frozenset(name))) for name in ("b", "cd", "e")]
        await asyncio.sleep(0.05)
        go_on.set()
        return await asyncio.gather(first, *others)

    found = asyncio.run(several())
    assert asked == [{"a"}, {"b", "c", "d", "e"}]
    heard = [[each.reply["request"] for each in one.heard] for one in found]
    assert heard == [["a"], ["b"], ["c", "d"], ["e"]]
