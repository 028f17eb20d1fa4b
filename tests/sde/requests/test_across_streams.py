"""Questions across streams: what the shards say, and that it makes the right answer."""

import numpy as np
import pytest
from msgspec.structs import replace
from wire_messages import create

from sde.records.asked import Asked
from sde.records.position import Position
from sde.records.streams import unpack_streams
from sde.requests.answering import answer
from sde.requests.questions import ask
from sde.shard.shard import shard_of
from sde.testing import LocalEngine
from sde.wire import decode_request
from synopses import common_window
from synopses.common_window import is_cut

T0 = 1_700_000_000_000
PARAMS = {"interval": 1, "window": 40, "basic_window": 10}
QUESTION = {"id": "q", "op": "estimate", "uid": "u", "query": {"type": "pairs", "threshold": 0.8}}
KIND = pytest.mark.parametrize("kind", ["dft", "lsh"])


@pytest.fixture(autouse=True)
def few_are_enough_to_guess(monkeypatch):
    monkeypatch.setattr(common_window, "FEW_STREAMS", 2)


def walks(engine, ahead=0, streams=24):
    """Ticks of streams that move in threes; those of shard 0 are some ticks ahead."""
    common = np.random.default_rng(1).normal(size=(streams // 3, 80)).cumsum(axis=1)
    own = 0.2 * np.random.default_rng(2).normal(size=(streams, 80)).cumsum(axis=1)
    messages = []
    for n in range(streams):
        first = shard_of("d", f"s{n}", len(engine.stores)) == 0
        for t in range(55 + ahead * first):
            value = float(common[n // 3, t] + own[n, t])
            message = {"dataset": "d", "stream": f"s{n}", "time": T0 + 1000 * t}
            messages.append({**message, "values": {"v": value}})
    return messages


def filled(kind, shards=3, ahead=0):
    engine = LocalEngine(shards)
    engine.run([create("u", kind, key=None, value="v", scope="stream", params=PARAMS)])
    engine.run(data=walks(LocalEngine(3), ahead))
    return engine


def found(reply):
    assert reply["status"] == "ok", reply
    return sorted([*sorted(pair[:2]), *pair[2:]] for pair in reply["value"])


@KIND
def test_streams_cut_in_their_shards_make_the_answer_of_one_shard(kind):
    engine, alone = filled(kind), filled(kind, shards=1)
    reply, expected = engine.ask(**QUESTION), alone.ask(**QUESTION)
    assert found(reply) == found(expected)
    assert len(reply["value"]) >= 5
    assert reply["details"] == expected["details"]


@KIND
def test_shards_in_different_windows_are_asked_again_and_then_all_is_told(kind):
    engine, alone = filled(kind, ahead=10), filled(kind, shards=1, ahead=10)
    assert engine.replies([QUESTION]) == []
    (reply,) = engine.settle()
    assert found(reply) == found(alone.ask(**QUESTION))
    assert reply["request"] == "q"


@KIND
def test_a_watch_is_answered_when_it_is_due_also_by_shards_in_different_windows(kind):
    engine, alone = filled(kind, ahead=10), filled(kind, shards=1, ahead=10)
    engine.run([{"id": "w", "op": "watch", "uid": "u", "query": QUESTION["query"], "every": "1s"}])
    engine.tick(T0 + 100_000).settle()
    (reply,) = engine.tick(T0 + 102_000).replies()
    assert found(reply) == found(alone.ask(**QUESTION))


@KIND
def test_only_what_can_be_asked_again_is_cut(kind):
    shard = filled(kind).shard(1)
    request = decode_request(QUESTION, "r-0")

    asked = Asked(position=Position("r", 0, 0), time=T0, request=request)

    def cut(states):
        (part,) = states.parts
        return is_cut(unpack_streams(part.data).arrays)

    assert cut(answer(shard, request, asked))
    assert not cut(answer(shard, request, replace(asked, at=T0)))  # asked again
    assert not cut(ask(shard, request, None, True))  # of several sites
    assert not cut(ask(shard, request, None))  # by a watch


@KIND
def test_streams_that_went_leave_gaps_and_the_rest_is_answered_for(kind):
    engine, alone = filled(kind), filled(kind, shards=1)
    for one in (engine, alone):
        for number in range(len(one.stores)):
            shard = one.shard(number)
            for name in ("s4", "s11", "s12"):
                shard.forget_stream(shard.registry.instance("u"), name)
            shard.save()
    reply = engine.ask(**QUESTION)
    assert found(reply) == found(alone.ask(**QUESTION))
    assert reply["details"]["streams"] == 21
