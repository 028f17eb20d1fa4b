"""The lane as a process: what waits, what is given up, and what goes to the engine."""

import os
import threading
from contextlib import contextmanager

import pytest

from sde.shard.reader import NotAtRest
from sde.storage.arena_view import Unreadable
from service.gateway.lane_frames import SIZE_BYTES, LaneQuestion, answers_of, frame, size_of
from service.lane.server import LaneServer


class Scripted:
    """A lane that says what a question names; `busy` is not at rest until `rest` is set."""

    def __init__(self):
        self.rest = threading.Event()

    @contextmanager
    def turn(self):
        yield self.reply

    def reply(self, question):
        match question.message["uid"]:
            case "busy" if not self.rest.is_set():
                raise NotAtRest("a batch is at work")
            case "plug-in":
                raise Unreadable("plug-ins run in the engine")
            case "defect":
                raise KeyError("who")
            case "huge":
                return {"value": "x" * (17 << 20)}
            case uid:
                return {"uid": uid}


class Asked:
    def __init__(self):
        self.lane = Scripted()
        source, self.write = os.pipe()
        self.read, sink = os.pipe()
        self.server = threading.Thread(target=LaneServer(self.lane, source, sink).run)
        self.server.start()
        assert size_of(self._take(SIZE_BYTES)) == 0  # it is ready

    def ask(self, *uids, seconds=60.0):
        questions = [LaneQuestion(n, seconds, {"uid": uid}) for n, uid in enumerate(uids)]
        data = frame(questions)
        for half in (data[:7], data[7:]):
            os.write(self.write, half)

    def answers(self):
        return {a.number: a.reply for a in answers_of(self._take(size_of(self._take(SIZE_BYTES))))}

    def _take(self, size):
        found = b""
        while len(found) < size:
            found += os.read(self.read, size - len(found))
        return found


@pytest.fixture
def asked():
    asked = Asked()
    yield asked
    os.close(asked.write)
    asked.server.join(20)
    assert not asked.server.is_alive()  # it ends with its input


def test_what_waits_for_a_batch_does_not_keep_others_waiting(asked):
    asked.ask("busy", "u")
    assert asked.answers() == {1: b'{"uid":"u"}'}
    asked.lane.rest.set()
    assert asked.answers() == {0: b'{"uid":"busy"}'}


def test_what_waits_too_long_goes_to_the_engine(asked):
    asked.ask("busy", seconds=0.05)
    assert asked.answers() == {0: b""}


def test_what_it_cannot_answer_goes_to_the_engine(asked, caplog):
    asked.ask("plug-in", "defect", "huge")
    found = {}
    while len(found) < 3:
        found |= asked.answers()
    assert found == {0: b"", 1: b"", 2: b""}
    assert "a question failed" in caplog.text
