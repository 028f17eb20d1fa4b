"""What a plug-in's process may send: its records, and anything else without harm."""

import socket
import struct
import time

import pytest

from sde.plugins import calls, process, wire
from sde.plugins.failure import PluginFailure
from sde.plugins.process import PluginProcess
from sde.wire.framing import pack
from synopses import QueryError


def framed(head, *parts):
    body = pack([head, *parts])
    return struct.pack("<Q", len(body)) + body


@pytest.fixture
def ends():
    here, there = socket.socketpair()
    with here, there:
        yield here, there


@pytest.mark.parametrize(
    "call",
    [
        calls.Load("total", "x = 1", 1 << 20),
        calls.ListLaws(),
        calls.CheckLaw("l"),
        calls.Make(calls.to_raw({"a": [1, 2.5, "é"]})),
        calls.Add(calls.to_raw({}), 3),
        calls.AddSlots(calls.to_raw({}), 3),
        calls.Merge(calls.to_raw({})),
        calls.Ask(calls.to_raw({}), calls.to_raw({"type": "count"})),
        calls.AskAcross(calls.to_raw({}), "pairs", ["s1"], calls.to_raw({"k": 3})),
        calls.CheckState(calls.to_raw({})),
    ],
    ids=lambda call: call.name,
)
def test_every_call_arrives_as_it_was_sent(ends, call):
    here, there = ends
    wire.send(here, wire.frame(calls.Envelope([], call), [b"state", b""]))
    envelope, states = wire.receive(there, calls.ENVELOPES)
    assert (envelope, states) == (calls.Envelope([], call), [b"state", b""])


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<Q", 1 << 60),  # announces more than there can be
        struct.pack("<Q", 3) + b"abc",
        struct.pack("<Q", 4) + struct.pack("<I", 0),  # no record
        framed(b""),
        framed(b"not JSON"),
        framed(b"[1, 2]"),
        framed(b"{}"),
        framed(b'{"reply": "pickle", "data": ""}'),
        framed(b'{"reply": "sizes", "params": {}, "memory": "many", "layout": null}'),
        framed(b'{"reply": "laws", "names": "all"}'),
        framed(b'{"reply": "answer", "estimate": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        framed(b'{"reply": "unfit", "reason": "\xff"}'),
    ],
)
def test_what_is_no_reply_is_garbled(ends, data):
    here, there = ends
    here.settimeout(5)
    there.sendall(data)
    with pytest.raises(wire.Garbled):
        wire.receive(here, calls.REPLIES, time.monotonic() + 5)


class Answering(PluginProcess):
    """A process that gives a reply made beforehand."""

    def __init__(self, reply):
        super().__init__("touchy@1", 5.0)
        self._link.close()
        self._link, self._theirs = socket.socketpair()
        self._theirs.sendall(reply)

    def stop(self):
        self._theirs.close()
        super().stop()


@pytest.fixture
def answering(monkeypatch):
    started = []
    monkeypatch.setattr(process.subprocess, "Popen", lambda *_, **__: Gone())

    def start(reply):
        started.append(Answering(reply))
        return started[-1]

    yield start
    for one in started:
        one.stop()


class Gone:
    """Stands for a process that has ended."""

    pid = 2**22 + 1  # above the largest there can be

    def wait(self, seconds=None):
        return 0


ASK = calls.Ask(calls.to_raw({}), calls.to_raw({}))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (framed(b"{}"), "estimate gave back nonsense"),
        (wire.frame(calls.Done()), "the result of another call"),
        (wire.frame(calls.Broken("KeyError: 'x'")), "estimate failed: KeyError: 'x'"),
        (wire.frame(calls.BadQuery("q", calls.Raw(b'"\xff"'), "two")), "no JSON"),
    ],
)
def test_a_reply_that_must_not_be_is_a_failure_and_ends_the_process(answering, reply, reason):
    plugin = answering(reply)
    with pytest.raises(PluginFailure) as failure:
        plugin.call(ASK, calls.Answer)
    assert reason in failure.value.reason
    assert plugin.ended


def test_a_wrong_query_is_the_users_mistake_and_the_process_goes_on(answering):
    plugin = answering(wire.frame(calls.BadQuery("q", calls.to_raw(1), "two")))
    with pytest.raises(QueryError, match="q=1: expected two"):
        plugin.call(ASK, calls.Answer)
    assert not plugin.ended
