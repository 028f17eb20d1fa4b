"""What clock and examiner read of the union topic: each record once, and only the engine's own."""

import pytest

from sde.records.loop import Due, Tick, loop_bytes
from sde.records.seal import LoopSeal
from service.engine.clock import Clock
from service.engine.loop_topic import LoopTopic
from service.settings import Settings

SEAL = LoopSeal.new("c", {"sde-union": 3})
SETTINGS = Settings(bootstrap_servers="127.0.0.1:1")


class Message:
    def __init__(self, value, offset):
        self._value, self._offset = value, offset

    def value(self):
        return self._value

    def offset(self):
        return self._offset


def due(at, batch, offset, seal=SEAL):
    return Message(loop_bytes(Due(at=at), seal, batch), offset)


@pytest.fixture
def topic():
    return LoopTopic(SETTINGS, SEAL)


def test_a_copy_of_a_record_is_not_read_but_the_same_message_is_read_again(topic):
    assert topic.read(due(5, 7, 10)) == Due(at=5)
    assert topic.read(due(5, 7, 10)) == Due(at=5)
    assert topic.read(due(5, 7, 11)) is None
    assert topic.read(due(None, 7, 12)) == Due(at=None)
    assert topic.read(due(9, 8, 13)) == Due(at=9)
    assert topic.read(due(None, 7, 14)) is None


def test_what_others_write_is_not_read(topic):
    for seal in (LoopSeal.new("c"), LoopSeal.new("other"), LoopSeal("c", b"c")):
        assert topic.read(due(5, 7, 10, seal)) is None
    assert topic.read(Message(b'{"op":"due","checkpoint":"c","at":5}', 3)) is None
    assert topic.read(Message(b"[" * 100_000, 4)) is None
    assert topic.read(Message(None, 5)) is None


def test_what_stood_in_the_topic_before_the_seal_was_made_is_read(topic):
    assert topic.read(Message(b'{"op":"due","checkpoint":"c","at":5}', 2)) == Due(at=5)
    assert topic.read(Message(b'{"op":"due","checkpoint":"d","at":5}', 2)) is None


def test_a_copy_of_an_old_word_cannot_stop_the_clock_at_its_start(monkeypatch):
    written = []
    clock = Clock(SETTINGS, SEAL, dict)
    monkeypatch.setattr(clock._loop, "write", lambda record, _: written.append(record))
    clock.on_poll([due(None, 7, 10)])
    assert [type(record) for record in written] == [Tick]
    clock.on_poll([due(0, 8, 11)])
    assert len(written) == 2
