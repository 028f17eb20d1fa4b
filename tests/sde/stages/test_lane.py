"""The read lane answers as the engine does, after the last batch and never in the middle of one."""

import fcntl
from contextlib import ExitStack

import numpy as np
import pytest
from wire_messages import create

from sde.shard.keeper import new_token
from sde.shard.reader import NotAtRest, ShardReader
from sde.stages.lane import QUESTIONS, Lane
from sde.stages.maintain import open_shard
from sde.storage.arena import Arena, shard_lock
from sde.storage.arena_view import Unreadable
from sde.testing import LocalEngine
from sde.wire import decode_request
from synopses import KINDS

SHARDS = 3
T0 = 1_700_000_000_000
TUMBLING = {"type": "tumbling", "size": "10s", "time": "ts", "keep": "1h"}
SLIDING = {"type": "sliding", "size": "20s", "slide": "5s", "time": "ts", "keep": "1h"}
SESSIONS = {"type": "session", "gap": "3s", "time": "ts", "keep": "1h"}
WINDOWS = [None, TUMBLING, SLIDING, SESSIONS, {"size": 50}]
PARAMS = {"dft": {"window": 16, "basic_window": 4}, "lsh": {"window": 16, "basic_window": 4}}


class EngineInFiles(LocalEngine):
    """Its shards lie in arenas, as those of workers do; `over` is its last batch that is over."""

    def __init__(self, folder):
        super().__init__(SHARDS)
        self.folders = [folder / f"shard-{number}" for number in range(SHARDS)]
        self.stores = [Arena(each) for each in self.folders]
        self.over = -1

    def _run(self, arrived, blocks):
        with ExitStack() as locks:
            for folder, store in zip(self.folders, self.stores, strict=True):
                locks.enter_context(shard_lock(folder))
                store.begin()
            batch = self.batch
            out = super()._run(arrived, blocks)
            for store in self.stores:
                store.finish(new_token(batch, "t"))
        self.over = batch
        return out

    def lane(self):
        readers = [
            ShardReader(folder, number, SHARDS, self.limits, open_shard)
            for number, folder in enumerate(self.folders)
        ]
        return Lane(readers, "here", lambda: self.over)


@pytest.fixture
def engine(tmp_path):
    return EngineInFiles(tmp_path)


def in_lane(lane, **message):
    request = decode_request({"id": "q", **message}, "q")
    assert isinstance(request, QUESTIONS)
    return lane.reply(request)


def in_one_batch(engine, messages):
    """The one reply to each, by its id. Batches of their own would be thousands of files."""
    messages = list(messages)
    replies = [*engine.replies(messages), *engine.settle()]
    found = {reply["request"]: reply for reply in replies}
    assert len(replies) == len(found) == len(messages)
    return found


def same_but_for_the_batch(one, other):
    left_out = {"batch", "id"}
    return {k: v for k, v in one.items() if k not in left_out} == {
        k: v for k, v in other.items() if k not in left_out
    }


def rows(count=400, seed=1):
    rng = np.random.default_rng(seed)
    return [
        (
            f"s{n % 7}",
            {
                "k": f"k{rng.zipf(1.5) % 20}",
                "v": float(rng.integers(1, 9)),
                "w": float(rng.normal()),
                "ts": T0 + 100 * n,
            },
        )
        for n in range(count)
    ]


def definitions(kind):
    """Each scope and window; the engine refuses those that the kind cannot have."""
    cls = KINDS[kind]
    fields = {"kind": kind, "params": PARAMS.get(kind, {}), "dataset": "d"}
    if cls.reads & {"keys", "texts"}:
        fields["key"] = "k"
    if "values" in cls.reads:
        counts = {"coreset": ["v", "w"], "trajectory": ["v", "w", "v", "w"]}
        fields["value"] = counts.get(kind, "v")
    for number, window in enumerate(WINDOWS):
        for scope in ("dataset", "stream", {"stream": "s1"}):
            uid = f"{number}-{scope if isinstance(scope, str) else 'one'}"
            more = {} if window is None else {"window": window}
            yield {"id": f"c-{uid}", "op": "create", "uid": uid, "scope": scope, **fields, **more}


def questions(kind, uid):
    cls = KINDS[kind]
    for name in cls.questions:
        query = cls.example_query(name)
        if "key" in query:
            query["key"] = "k1"
        for about in ({}, {"stream": "s1"}, {"stream": "*"}, {"stream": "nobody"}):
            yield {"op": "estimate", "uid": uid, "query": query, **about}
        yield {"op": "estimate", "uid": uid, "query": query, "end": T0 + 20_000}
        yield {"op": "estimate", "uids": [uid, uid], "query": query}
    yield {"op": "describe", "uid": uid}
    yield {"op": "export", "uid": uid}
    yield {"op": "export", "uid": uid, "stream": "s2"}
    yield {"op": "streams", "uid": uid}


@pytest.mark.parametrize("kind", KINDS)
def test_every_question_of_every_kind_scope_and_window_has_the_same_reply(kind, engine):
    defined = {d["id"]: d["uid"] for d in definitions(kind)}
    replies = in_one_batch(engine, definitions(kind))
    created = [defined[r["request"]] for r in replies.values() if r["status"] == "ok"]
    asked = [question for uid in created for question in questions(kind, uid)]
    asked = [{"id": f"q{number}", **question} for number, question in enumerate(asked)]
    lane = engine.lane()
    for seed in (1, 2):  # the lane has seen the shards before
        engine.send("d", rows(seed=seed))
        engine.settle()
        expected = in_one_batch(engine, asked)
        for question in asked:
            found = in_lane(lane, **question)
            assert same_but_for_the_batch(found, expected[question["id"]]), question
        assert same_but_for_the_batch(in_lane(lane, op="list"), engine.ask(op="list"))
    assert len(created) >= 2


@pytest.mark.parametrize("kind", ["count_min", "quantiles", "moments", "dft"])
def test_what_is_asked_in_one_turn_has_the_replies_that_it_has_alone(kind, engine):
    created = [d["uid"] for d in definitions(kind) if engine.ask(**d)["status"] == "ok"]
    engine.send("d", rows())
    engine.settle()
    lane = engine.lane()
    asked = [each for uid in created for each in questions(kind, uid)]
    asked += [{"op": "estimate", "uid": uid, "query": {"type": "no question"}} for uid in created]
    alone = [in_lane(lane, **question) for question in asked]
    with lane.turn():
        for _ in range(2):  # the second time from what the first one gathered
            assert [in_lane(lane, **question) for question in asked] == alone
        with pytest.raises(BlockingIOError):  # no batch begins meanwhile
            locked(engine.folders[0])
    locked(engine.folders[0])


def locked(folder):
    with (folder / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_what_comes_and_goes_between_two_questions_is_noticed(engine):
    lane = engine.lane()
    engine.run([create("u", "hyperloglog", "k")])
    engine.send("d", rows())
    first = in_lane(lane, op="estimate", uid="u")
    assert same_but_for_the_batch(first, engine.ask(op="estimate", uid="u"))
    engine.ask(op="delete", uid="u")
    assert in_lane(lane, op="estimate", uid="u")["code"] == "unknown_synopsis"
    engine.run([{**create("u", "count_min", "k"), "id": "again"}])
    engine.send("d", rows(100))
    answer = in_lane(lane, op="estimate", uid="u", query={"type": "total"})
    assert answer["value"] == 100


def test_an_arena_that_was_built_again_is_read_anew(engine):
    lane = engine.lane()
    engine.run([create("u", "count_min", "k")])
    engine.send("d", rows(100))
    assert in_lane(lane, op="estimate", uid="u", query={"type": "total"})["value"] == 100
    other = EngineInFiles(engine.folders[0].parent)
    for store in other.stores:
        store.clear()
    other.batch = engine.batch
    other.run([create("u", "count_min", "k")])
    other.send("d", rows(30))
    assert in_lane(lane, op="estimate", uid="u", query={"type": "total"})["value"] == 30


def test_half_of_a_batch_is_never_seen(engine):
    engine.run([create("u", "count_min", "k"), create("each", "count_min", "k", scope="stream")])
    engine.send("d", rows(70))
    lane = engine.lane()
    total = {"op": "estimate", "uid": "u", "query": {"type": "total"}}
    assert in_lane(lane, **total)["value"] == 70
    # One shard has done the next batch, the others have not begun.
    engine.stores[1].finish(new_token(engine.batch, "t"))
    with pytest.raises(NotAtRest, match="is not over"):
        lane.reply(decode_request({"id": "q", **total}, "q"))
    # What one shard alone knows can be asked all the same.
    each = {"op": "estimate", "uid": "each", "stream": "s1", "query": {"type": "total"}}
    assert in_lane(lane, **each)["value"] == 10
    engine.over = engine.batch  # nothing came for the others
    assert in_lane(lane, **total)["value"] == 70


def test_a_shard_in_the_middle_of_a_batch_is_waited_for_and_one_that_died_in_it_is_not_read(engine):
    engine.run([create("u", "count_min", "k")])
    lane = engine.lane()
    request = decode_request({"id": "q", "op": "estimate", "uid": "u", "query": {"key": 1}}, "q")
    with shard_lock(engine.folders[2]), pytest.raises(NotAtRest, match="shard 2 is being changed"):
        lane.reply(request)
    engine.stores[2].begin()  # and no end
    with pytest.raises(Unreadable, match="shard 2 is not as its last batch left it"):
        lane.reply(request)


def test_whoever_wrote_waits_until_it_is_there(engine):
    engine.run([create("u", "count_min", "k")])
    lane = engine.lane()
    request = decode_request({"id": "q", "op": "estimate", "uid": "u", "query": {"key": 1}}, "q")
    assert lane.reply(request, engine.over)["batch"] == engine.over
    with pytest.raises(Unreadable, match=f"batch {engine.batch} is not over"):
        lane.reply(request, engine.batch)


def test_where_no_engine_has_worked_the_lane_says_so(tmp_path, engine):
    reader = ShardReader(tmp_path / "elsewhere", 0, 1, engine.limits, open_shard)
    lane = Lane([reader], "here", lambda: 0)
    with pytest.raises(Unreadable, match="no engine has worked here yet"):
        in_lane(lane, op="list")
