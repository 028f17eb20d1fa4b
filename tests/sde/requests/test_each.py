"""Watches for each key or stream: numbers are used once, and nothing is left out in silence."""

import json

import pytest
from wire_messages import create

from sde.testing import LocalEngine

WATCH = {"id": "w", "op": "watch", "uid": "u", "on": "change"}


@pytest.fixture(autouse=True)
def _few_numbers(monkeypatch):
    for module in ("sde.requests.each", "sde.stages.watch_answers"):
        monkeypatch.setattr(f"{module}.NUMBERS", 100)
        monkeypatch.setattr(f"{module}.MOST", 99)


def batch(engine, keys, one_stream=False):
    """The answers to what comes in one batch, which may take another one."""
    return [*at_once(engine, keys, one_stream), *later(engine)]


def later(engine):
    return [r for r in engine.settle() if r["request"] == "w"]


def at_once(engine, keys, one_stream=False):
    lines = [
        json.dumps({"dataset": "d", "stream": "s" if one_stream else f"s{k}", "values": {"k": k}})
        for k in keys
    ]
    return [r for r in engine.replies(data=["\n".join(lines).encode()]) if r["request"] == "w"]


def started(each, **fields):
    engine = LocalEngine(shards=4)
    engine.run([create("u", **fields), {**WATCH, "each": each, "query": {"type": "total"}}])
    return engine


def by_key():
    engine = LocalEngine(shards=4)
    engine.run([create("u"), {**WATCH, "each": "key", "query": {"type": "frequency"}}])
    return engine


def test_numbers_are_used_once_however_many_keys_a_batch_has():
    engine = by_key()
    numbers = []
    for first, last in ((0, 160), (100, 150), (0, 99), (0, 500)):
        numbers += [reply["number"] for reply in batch(engine, range(first, last))]
    assert len(numbers) == 100 + 50 + 99 + 100
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("one_stream", [False, True], ids=["all shards", "one shard"])
def test_the_last_answer_says_how_many_keys_were_left_out(one_stream):
    engine = by_key()
    *answers, last = batch(engine, range(160), one_stream)
    assert len(answers) == 99
    assert all(reply["value"] >= 1 for reply in answers)
    assert (last["status"], last["code"], last["field"]) == ("error", "limit_exceeded", "each")
    assert last["left_out"] == 160 - 99
    assert "61 more keys" in last["message"]


def test_streams_that_were_left_out_are_told_as_well():
    engine = started("stream", scope="stream")
    *answers, last = batch(engine, range(160))
    assert (len(answers), last["left_out"]) == (99, 61)


def test_a_batch_with_as_many_keys_as_there_may_be_leaves_nothing_out():
    answers = batch(by_key(), range(99))
    assert len(answers) == 99
    assert all(reply["status"] == "ok" for reply in answers)


def test_keys_of_one_stream_are_answered_from_all_shards():
    """Only the shard of that stream runs in the batch in which they come."""
    engine = by_key()
    batch(engine, [k % 7 for k in range(70)])
    batch(engine, range(80))
    assert at_once(engine, [3, 3, 5], one_stream=True) == []
    answers = {r["key"]: r["value"] for r in later(engine)}
    assert answers == {"3": 10 + 1 + 2, "5": 10 + 1 + 1}


def test_keys_that_wait_are_answered_together_with_those_that_come():
    engine = by_key()
    at_once(engine, [1], one_stream=True)
    answers = at_once(engine, [2, 1], one_stream=True)
    assert [(r["key"], r["value"]) for r in answers] == [("1", 2), ("2", 1)]
    assert later(engine) == []
