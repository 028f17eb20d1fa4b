"""Banks that hold much less than they once did give their memory back, and nobody notices."""

import numpy as np
import pytest
from wire_messages import create

from sde.decoding import Limits, decode_tuples
from sde.limits import StateLimits
from sde.shard.shard import Shard, stream_hash
from sde.stages.maintain import open_shard
from sde.storage.arena import Arena
from sde.testing import LocalEngine, messages
from sde.wire import decode_request

T0 = 1_700_000_000_000
HELD = 200  # streams that stay
GONE = 3000  # streams that go
ARRAYS = {"kind": "count_min", "key": "k", "params": {"epsilon": 0.01}}
OBJECTS = {"kind": "theta", "key": "k", "params": {"lg_k": 9}}


def rows(streams, second, dataset="d"):
    return [
        {
            "dataset": dataset,
            "stream": f"s{n}",
            "time": T0 + 1000 * second,
            "values": {"k": f"{n}-{second}", "v": 1.0},
        }
        for n in streams
    ]


def add(shard, data):
    for block in decode_tuples(messages(data, time=T0), 1, Limits()).blocks:
        shard.add(block)
    shard.save()


def opened(arena, *requests):
    shard = open_shard(0, 1, arena, StateLimits())
    for request in requests:
        request = decode_request(request, "requests-0-0")
        shard.create(request.uid, request.definition, T0)
    return shard


def allocated(folder):
    return sum(p.stat().st_blocks * 512 for p in folder.rglob("*") if p.is_file())


def contents(shard, uid="u"):
    """What is kept of each stream and pane."""
    return {(one.stream, one.pane): one for one in shard.kept(shard.registry.instance(uid))}


WINDOWS = {
    "tumbling": {"window": {"size": "1s", "keep": "1s"}},
    "session": {"window": {"type": "session", "gap": "1s", "keep": "1s"}},
    "idle": {"idle": "10s"},
    "idle count": {"idle": "10s", "window": {"size": 4}},
}


@pytest.mark.parametrize("fields", [ARRAYS, OBJECTS], ids=["arrays", "objects"])
@pytest.mark.parametrize("window", WINDOWS)
def test_files_shrink_when_most_streams_left_and_what_stayed_is_the_same(
    tmp_path, window, fields, monkeypatch
):
    monkeypatch.setattr("sde.banks.bank._WORTH_IT", 100_000)
    shard = opened(Arena(tmp_path), create("u", scope="stream", **fields, **WINDOWS[window]))
    add(shard, rows(range(GONE), 0))
    stays = range(0, GONE, GONE // HELD)
    expected = opened(
        Arena(tmp_path / "e"), create("u", scope="stream", **fields, **WINDOWS[window])
    )
    if "idle" in window:  # they had a tuple before the others fell silent
        add(expected, rows(stays, 0))
    shard.tick(T0)
    add(shard, rows(stays, 9))
    add(expected, rows(stays, 9))
    full = allocated(tmp_path)
    shard.tick(T0 + 10_000)
    for _, clock in shard.clocks_of(""):
        shard.advance("d", clock, T0 + 9_000, {})
    shard.save()
    assert contents(shard) == contents(expected)
    (layer,) = shard._layers.values()
    assert layer.bank.used == HELD
    assert allocated(tmp_path) < full / 3
    add(shard, rows(range(GONE), 10))  # it grows again
    add(expected, rows(range(GONE), 10))
    assert contents(shard) == contents(expected)


def test_another_process_finds_the_streams_in_their_new_places(tmp_path, monkeypatch):
    monkeypatch.setattr("sde.banks.bank._WORTH_IT", 100_000)
    arenas = [Arena(tmp_path), Arena(tmp_path)]
    one = opened(arenas[0], create("u", scope="stream", idle="10s"))
    add(one, rows(range(GONE), 0))
    two = open_shard(0, 1, arenas[1], StateLimits())
    assert len(contents(two)) == GONE
    one.tick(T0)
    add(one, rows(range(HELD), 1))
    one.tick(T0 + 10_000)
    one.save()
    arenas[1].refresh()
    assert two.refresh()
    assert contents(two) == contents(one)
    assert len(contents(two)) == HELD
    add(two, rows(range(HELD), 2))
    arenas[0].refresh()
    assert one.refresh()
    assert contents(one) == contents(two)


def test_synopses_that_share_a_bank_stay_apart_when_it_shrinks(monkeypatch):
    monkeypatch.setattr("sde.banks.bank._WORTH_IT", 1)
    monkeypatch.setattr("sde.banks.bank._WORTH_A_LAYER", 1)
    engine = LocalEngine(shards=2)
    engine.run(
        [
            create("whole"),
            create("each", scope="stream"),
            create("one", scope={"stream": "s7"}),
            create("window", scope="stream", window={"size": "1s"}),
        ],
        rows(range(300), 0),
    )
    engine.settle()
    before = {uid: engine.ask(op="describe", uid=uid)["value"] for uid in ("whole", "one")}
    engine.run([{"id": "x", "op": "delete", "uid": "each"}], rows([7], 100))
    engine.settle()
    for number in range(2):
        (bank,) = engine.shard(number)._banks.values()
        assert bank.used == bank.live < 10
    for uid, tuples in (("whole", 301), ("one", 2)):
        now = engine.ask(op="describe", uid=uid)["value"]
        assert (now["tuples"], now["since"]) == (tuples, before[uid]["since"])
    total = {"type": "total"}
    assert engine.ask(op="estimate", uid="one", query=total)["value"] == 2
    assert engine.ask(op="estimate", uid="window", stream="s7", query=total)["value"] == 1


def test_a_bank_that_is_well_used_is_left_alone(tmp_path):
    shard = Shard(0, 1, Arena(tmp_path), StateLimits())
    request = decode_request(create("u", scope="stream"), "requests-0-0")
    shard.create("u", request.definition, T0)
    add(shard, rows(range(400), 0))
    instance = shard.registry.instance("u")
    for n in range(290):
        shard.forget_stream(instance, f"s{n}")
    shard.save()
    (layer,) = shard._layers.values()
    assert (layer.bank.used, layer.bank.live) == (400, 110)
    assert layer.table.find(np.array([stream_hash("s300")]))[0] >= 0
