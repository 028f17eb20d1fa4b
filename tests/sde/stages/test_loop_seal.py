"""What the engine tells itself is believed; what others write to its topic is not."""

import json

import pytest
from watched import T0, after, content, counted, replayed, started, told, watch
from wire_messages import create

from sde.federation.frames import Content, seal
from sde.records.loop import Answered, Tick, loop_bytes
from sde.records.seal import LoopSeal
from sde.records.sites import Contribution, PeerRequest
from sde.stages import maintain
from sde.testing import LocalEngine

TTL = create("u", ttl="3650d")


def state(engine):
    return [content(store) for store in engine.stores]


@pytest.fixture
def engine():
    made = LocalEngine()
    made.run([TTL])
    return made


FAR = Tick(time=4 * 10**18)


def forged(engine):
    """A tick that would end every lifetime, as somebody writes it who reads the topic."""
    name = engine.wiring.seal.checkpoint
    genuine = loop_bytes(Tick(time=T0), engine.wiring.seal)
    old_form = json.dumps({"op": "tick", "checkpoint": name, "time": FAR.time}).encode()
    guessed = loop_bytes(FAR, LoopSeal(name, name.encode()))
    return {
        "as earlier versions wrote it": old_form,
        "with the checkpoint's name as secret": guessed,
        "with another secret": loop_bytes(FAR, LoopSeal.new(name)),
        "changed": genuine[:-2] + b"9" + genuine[-1:],
        "with another batch": genuine.replace(b"\xff" * 8, b"\0" * 8),
        "cut": genuine[:20],
        "only the beginning": b"SDEL",
        "nothing": b"",
        "deep": b"[" * 100_000,
    }


@pytest.mark.parametrize("how", list(forged(LocalEngine(shards=1))))
def test_a_forged_message_is_a_dead_letter_and_is_counted(engine, how):
    engine.union.append(forged(engine)[how])
    assert engine.replies() == []
    (letter,) = engine.letters
    assert (letter["topic"], letter["code"]) == ("union", "untrusted")
    assert "did not write" in letter["message"]
    assert engine.shard(0).registry.time < FAR.time
    assert engine.ask(op="describe", uid="u")["status"] == "ok"
    assert engine.shard(0).beside["desk"].traffic["others"].refused == 1


def test_many_forged_messages_are_counted_at_once(engine):
    engine.union += list(forged(engine).values())
    engine.replies()
    assert len(engine.letters) == len(forged(engine))
    assert engine.shard(0).beside["desk"].traffic["others"].refused == len(forged(engine))
    assert engine.entries[0][-1].count(b'"stray"') == 1


def test_what_another_engine_tells_itself_is_no_letter(engine):
    other = LoopSeal.new("another")
    old_form = {"op": "tick", "checkpoint": "another", "time": FAR.time}
    engine.union += [loop_bytes(FAR, other), old_form]
    before = state(engine)
    assert engine.replies() == []
    assert engine.letters == []
    assert state(engine) == before


def test_the_secret_is_in_no_message_and_in_no_repr(engine):
    seal = engine.wiring.seal
    assert seal.secret not in b"".join(forged(engine).values())
    assert repr(seal.secret) not in repr(engine.wiring)
    assert repr(seal.secret) not in repr(seal)


# -- copies of what the engine wrote ---------------------------------------------------------------


def test_a_copy_of_what_a_watch_answered_long_ago_changes_nothing(monkeypatch):
    monkeypatch.setattr(maintain, "_LONGEST_ROUND", 10)
    engine = started(create("u"), watch(on="change"))
    engine.replies(data=counted(1))
    said, copies = [], []
    while engine.union:
        copies += engine.union
        said += told(engine.replies())
    for _ in range(20):
        said += told([*engine.replies(data=counted(1)), *engine.settle()])
    assert said == [(n, n) for n in range(1, 22)]
    before = engine.shard(0).registry.watches.get("w")
    engine.union += copies
    assert told(engine.replies()) == []
    assert engine.shard(0).registry.watches.get("w") == before
    assert engine.letters == []
    assert engine.shard(0).beside["desk"].traffic["others"].refused == len(copies)
    assert state(replayed(engine)) == state(engine)


def test_a_copy_of_what_a_watch_answered_a_moment_ago_does_not_set_it_back():
    engine = started(create("u"), watch(on="change"))
    first = Answered(watch="w", number=1, value=1)
    engine.replies(data=counted(1))
    engine.settle()
    engine.replies(data=counted(1))
    engine.settle()
    assert engine.shard(0).registry.watches.get("w").number == 2
    engine.tell(first).settle()
    assert engine.shard(0).registry.watches.get("w").number == 2


def test_a_copy_of_a_tick_moves_no_clock_and_closes_no_window():
    engine = started(create("u", window={"size": "1s", "time": "arrival"}), watch(on="close"))
    engine.tick(T0 + 10_000, caught_up=True)
    copy = list(engine.union)
    engine.settle()
    after(engine, 20)
    time, marks = engine.shard(0).registry.time, watermarks(engine)
    engine.union += copy
    engine.settle()
    assert (engine.shard(0).registry.time, watermarks(engine)) == (time, marks)


def watermarks(engine):
    return [fact for fact in engine.shard(0).registry.facts() if fact[0] == "watermark"]


# -- an upgrade ------------------------------------------------------------------------------------


def old_form(op, **fields):
    return {"op": op, "checkpoint": "c", **fields}


def test_what_stood_in_the_topic_when_the_seal_was_made_is_believed_and_no_more_after_it():
    engine = LocalEngine(seal=LoopSeal.new("c", {"union": 2}))
    engine.run([TTL])
    engine.union += [old_form("progress", dataset="d", clocks={}), old_form("tick", time=T0 + 5)]
    engine.replies()
    assert engine.shard(0).registry.time == T0 + 5
    assert engine.letters == []
    engine.union.append(old_form("tick", time=T0 + 6))
    engine.replies()
    assert engine.shard(0).registry.time == T0 + 5
    assert len(engine.letters) == 1


def test_frames_of_sites_that_stood_in_the_old_topics_are_taken_as_they_were():
    """A site told itself things in frames, with the checkpoint's name as their secret."""
    note = seal("here", "here", b"c", Content(Contribution(key="k", sent=3)))
    other = seal("b", "here", b"b's secret", Content(Contribution(key="k")))
    ask = PeerRequest(key="k", request={"id": "q", "op": "sites"})
    asked = seal("b", "here", b"b's secret", Content(ask))
    older = LoopSeal.new("c", {"union": 3, "requests": 1})
    engine = LocalEngine(seal=older, secrets={"b": "b's secret"})
    engine.union += [note, other, b"SDEA\xff\xff"]
    engine.replies([asked])
    assert [to for to, _ in engine.outbound] == ["b"]
    assert engine.shard(0).beside["desk"].traffic["b"].late == 1
    assert engine.letters == []
    engine.union += [note, other]
    (reply,) = engine.replies([asked])
    assert reply["code"] == "bad_json"
    assert len(engine.letters) == 2
    assert len(engine.outbound) == 1
