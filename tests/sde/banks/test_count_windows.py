"""Windows by count: what they keep follows the streams that are there, not those that ever were."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_messages import create

from sde.limits import StateLimits
from sde.testing import LocalEngine

T0 = 1_700_000_000_000


def rows(streams):
    return [{"dataset": "d", "stream": s, "values": {"k": "a", "v": 1.0}} for s in streams]


def layer_of(engine):
    (layer,) = engine.shard(0)._layers.values()
    return layer


def described(engine):
    return engine.ask(op="describe", uid="w")["value"]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    size=st.integers(1, 12),
    slide=st.integers(1, 12),
    keep=st.integers(1, 12),
)
def test_any_cut_into_batches_keeps_the_same_last_tuples(seed, size, slide, keep):
    slide = min(size, slide)
    window = {"type": "sliding", "size": size, "slide": slide, "keep": keep}
    request = create("w", "moments", key=None, value="v", scope="stream", window=window)
    rng = np.random.default_rng(seed)
    data = rows([f"s{n}" for n in rng.integers(0, 3, 80)])
    kept = []
    for cuts in (1, 5, 80):
        engine = LocalEngine(shards=1)
        engine.run([request])
        for part in np.array_split(np.array(data, object), cuts):
            engine.run(data=part.tolist())
        shard = engine.shard(0)
        found = list(shard.kept(shard.registry.instance("w")))
        kept.append({(one.stream, one.pane): (one.tuples, one.state) for one in found})
    assert kept[0] == kept[1] == kept[2]


def test_a_block_takes_the_slots_of_the_window_however_many_tuples_it_has():
    engine = LocalEngine(shards=1)
    window = {"type": "sliding", "size": 5, "slide": 1}  # a pane for each tuple
    engine.run([create("w", scope="stream", window=window)])
    engine.run(data=rows(["a", "b"] * 5_000))
    assert layer_of(engine).bank.used <= 2 * 12
    reply = engine.ask(op="estimate", uid="w", stream="a", query={"type": "total"}, end=5_000)
    assert reply["value"] == 5


def test_streams_go_on_when_there_is_no_room_for_more():
    engine = LocalEngine(shards=1, limits=StateLimits(max_streams=3))
    engine.run([create("w", scope="stream", window={"size": 2})])
    for _ in range(50):
        engine.run(data=rows(["a", "b", "c"]))
    told = described(engine)
    assert (told["streams"], told["shed"]) == (3, 0)
    reply = engine.ask(op="estimate", uid="w", stream="a", query={"type": "total"}, end=50)
    assert reply["value"] == 2


def test_streams_that_found_no_room_leave_no_counter():
    engine = LocalEngine(shards=1, limits=StateLimits(max_streams=10))
    engine.run([create("w", scope="stream", window={"size": 10})])
    for batch in range(5):
        engine.run(data=rows([f"s{n}-{batch}" for n in range(100)] + ["s0-0"]))
    layer = layer_of(engine)
    told = described(engine)
    assert len(layer._counter_of) == told["streams"] <= 4 * 10
    assert told["tuples"] + told["shed"] == 505
    reply = engine.ask(op="estimate", uid="w", stream="s0-0", query={"type": "total"})
    assert reply["value"] == 6


def test_streams_that_were_idle_leave_no_counter_and_begin_anew():
    engine = LocalEngine(shards=1)
    engine.run([create("w", scope="stream", idle="1s", window={"size": 10})])
    for batch in range(5):
        engine.run(data=rows([f"s{n}-{batch}" for n in range(100)] + ["stays"]))
        engine.tick(T0 + 800 * batch).settle()
    layer = layer_of(engine)
    assert len(layer._counter_of) == described(engine)["streams"] <= 3 * 100 + 1
    engine.run(data=rows(["s1-0"]))
    answers = {
        stream: engine.ask(op="estimate", uid="w", stream=stream, query={"type": "total"})
        for stream in ("stays", "s1-0")
    }
    assert {stream: a["value"] for stream, a in answers.items()} == {"stays": 5, "s1-0": 1}


def test_a_stream_of_a_deleted_synopsis_leaves_no_counter():
    engine = LocalEngine(shards=1)
    for uid in ("w", "v"):
        engine.run([create(uid, scope={"stream": uid}, window={"size": 10})])
    engine.run(data=rows(["w", "v", "v"]))
    engine.run([{"id": "x", "op": "delete", "uid": "v"}])
    assert len(layer_of(engine)._counter_of) == 1
    assert engine.ask(op="estimate", uid="w", query={"type": "total"})["value"] == 1
