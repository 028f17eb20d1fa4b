"""Each distinct key once gives the store of adding every tuple, byte for byte."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_messages import create

from sde.banks import distinct_keys, selection
from sde.banks.bank import Bank
from sde.banks.distinct_keys import number_keys, takes_each_key_once
from sde.banks.groups import Groups
from sde.limits import StateLimits
from sde.testing import LocalEngine
from synopses import KINDS, Items

T0 = 1_700_000_000_000
SMALL = {
    "ams": {"epsilon": 0.5, "delta": 0.1},
    "bloom": {"capacity": 50},
    "count_min": {"epsilon": 0.1, "delta": 0.1},
    "fm": {"bitmaps": 16},
    "hyperloglog": {"lg_k": 5},
    "theta": {"lg_k": 5},
}
WEIGHTS = {
    "ones": [1],
    "of every size and sign": [1, -1, 0, 0.0004, -0.0004, 1 / 3, 2**20, 1e-300, 1e9 + 0.1237],
    "beyond 64 bits": [4e15, -4e15, 1e300, -1e300, 9.2e15],
    "some missing or no numbers": [2.5, None, "x", "7", 1e15, True],
}
SCOPES = ["dataset", "stream", {"stream": "s1"}]
WINDOWS = {
    "no window": {},
    "tumbling": {"window": {"size": "2s", "lateness": "2s"}},
    "sliding": {"window": {"type": "sliding", "size": "3s", "slide": "1s", "lateness": "5s"}},
    "by a field": {"window": {"size": "2s", "time": "at"}},
    "session": {"window": {"type": "session", "gap": "300ms"}},
    "by count": {"window": {"size": 50}},
    "idle": {"idle": "1h"},
}
CHANGES = {
    "topic": "rows",
    "dataset": "d",
    "stream": "stream",
    "time": "time",
    "fields": {name: f"values.{name}" for name in ("k", "w", "at")},
    "changes": "debezium",
}
REFUSED = ("by count", "idle")  # for a whole data set


def random_rows(seed, weights, count=600):
    """Keys that repeat: texts, numbers of both kinds, some missing. Times in disorder."""
    rng = np.random.default_rng(seed)
    keys = ["a", "b", "", "a long key that repeats", 7, 7.5, -1, 2**60, None, *range(100, 130)]
    rows = []
    for n in range(count):
        time = T0 + int(seed * 1000 + n * 5 - rng.integers(0, 2500))
        values = {"k": keys[rng.zipf(1.3) % len(keys)], "w": weights[rng.integers(len(weights))]}
        values = {"at": time - 100, **{f: v for f, v in values.items() if v is not None}}
        row = {"dataset": "d", "stream": f"s{rng.integers(5)}", "time": time, "values": values}
        rows.append(row)
    return rows


def requests(kind, scope, extra):
    """Synopses that share a field: with and without weights, in other units, in another size."""
    other = {**SMALL[kind], **({"decimals": 8} if KINDS[kind].sums_weights else {})}
    weighted = {"value": "w"} if KINDS[kind].sums_weights else {}
    return [
        create("plain", kind, scope=scope, params=SMALL[kind], **extra),
        create("weighted", kind, scope=scope, params=SMALL[kind], **weighted, **extra),
        create("in other units", kind, scope=scope, params=other, **weighted, **extra),
    ]


def kept(created, batches, limits=None):
    """All arrays of the store after some batches, and what describe says."""
    engine = LocalEngine(shards=1, limits=limits)
    for reply in engine.run(created).values():
        assert reply["status"] == "ok", reply
    engine.ask(op="source", id="s", name="rows", **CHANGES)
    for rows in batches:
        if "op" in rows[0]:
            engine.send_records("rows", rows)
        else:
            engine.run(data=rows)
    described = [engine.ask(op="describe", uid=one["uid"])["value"] for one in created]
    arrays = {name: array.tobytes() for name, array in engine.stores[0].arrays()}
    return arrays, described


@pytest.fixture
def ways(monkeypatch):
    """Runs the same thing both ways; how often items stood for several tuples."""
    added = []
    plain_way = Bank.add_sums

    def add_sums(self, *arguments, **how):
        added.append(self.template.kind)
        plain_way(self, *arguments, **how)

    def run(*arguments):
        monkeypatch.setattr(Bank, "add_sums", add_sums)
        monkeypatch.setattr(selection, "_ENOUGH", 10**9)
        every_tuple = kept(*arguments)
        assert not added
        monkeypatch.setattr(selection, "_ENOUGH", 1)
        for name, value in (("_SHORT", 1), ("_SHARE", 1), ("_REPEATS", 10**9)):
            monkeypatch.setattr(distinct_keys, name, value)
        each_key_once = kept(*arguments)
        return every_tuple, each_key_once, len(added)

    return run


def test_the_kinds_that_take_each_key_once_are_these():
    assert {n for n, cls in KINDS.items() if takes_each_key_once(cls.example())} == set(SMALL)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("scope", SCOPES, ids=["dataset", "stream", "one stream"])
@pytest.mark.parametrize("kind", SMALL)
def test_each_key_once_leaves_the_store_of_every_tuple(ways, kind, scope, weights):
    batches = [random_rows(seed, weights) for seed in range(3)]
    every_tuple, each_key_once, added = ways(requests(kind, scope, {}), batches)
    assert added == 9
    assert each_key_once == every_tuple


@pytest.mark.parametrize(
    ("scope", "window"),
    [
        *((scope, name) for scope in SCOPES for name in WINDOWS if name not in REFUSED),
        *(("stream", name) for name in REFUSED),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["count_min", "hyperloglog", "theta"])
def test_windows_hold_the_same_either_way(ways, kind, scope, window):
    batches = [random_rows(seed, WEIGHTS["of every size and sign"]) for seed in range(4)]
    every_tuple, each_key_once, _ = ways(requests(kind, scope, WINDOWS[window]), batches)
    assert each_key_once == every_tuple


@pytest.mark.parametrize("window", ["tumbling", "sliding", "by a field"])
@pytest.mark.parametrize("scope", ["dataset", "stream"])
def test_windows_by_time_take_each_key_once(ways, scope, window):
    batches = [random_rows(seed, [1]) for seed in range(3)]
    assert ways(requests("count_min", scope, WINDOWS[window]), batches)[2] == 9


@pytest.mark.parametrize("weights", ["of every size and sign", "some missing or no numbers"])
@pytest.mark.parametrize("window", ["no window", "sliding"])
@pytest.mark.parametrize("kind", ["ams", "count_min"])
def test_taking_each_key_away_once_leaves_the_store_of_every_tuple(ways, kind, window, weights):
    rows = random_rows(0, WEIGHTS[weights])
    batches = [rows, [{"op": "d", "before": row} for row in rows[:400]]]
    created = requests(kind, "stream", WINDOWS[window])
    every_tuple, each_key_once, added = ways(created, batches)
    assert added == 6
    assert each_key_once == every_tuple


@pytest.mark.parametrize("window", ["no window", "tumbling"])
def test_tuples_that_find_no_room_are_shed_either_way(ways, window):
    batches = [random_rows(seed, [1, 0.5]) for seed in range(3)]
    created = requests("count_min", "stream", WINDOWS[window])
    every_tuple, each_key_once, added = ways(created, batches, StateLimits(max_streams=2))
    assert added == 9
    assert each_key_once == every_tuple
    assert every_tuple[1][0]["shed"] > 0


def test_sums_beyond_64_bits_are_the_same_and_said_to_be_saturated():
    """Enough large weights of one key that sums wrap, and losses stop at their limit."""
    weights = [9e15, -9e15, 9e15] * 2000
    engine = LocalEngine(shards=1)
    engine.run([create(uid, value="w") for uid in ("a", "b")])
    engine.send("d", [("s", {"k": "x", "w": weight}) for weight in weights])
    exact = KINDS["count_min"]()
    exact.add(Items.of(["x"] * len(weights), values=weights))
    assert engine.ask(op="describe", uid="a")["value"]["digest"] == exact.digest()
    answer = engine.ask(op="estimate", uid="a", query={"key": "x"})
    assert (answer["value"], answer["details"]) == (None, {"saturated": True})


def test_one_reader_of_a_field_gets_every_tuple(monkeypatch):
    monkeypatch.setattr(Bank, "add_sums", None)
    engine = LocalEngine(shards=1)
    engine.run([create("a"), create("b", key="other"), create("c", scope="stream")])
    engine.run(data=random_rows(1, [1], 3000))
    assert engine.ask(op="describe", uid="a")["value"]["tuples"] > 0


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 9)), min_size=1, max_size=60))
def test_pairs_of_group_and_key_are_numbered_as_they_first_appear(rows):
    keys = Items.of([key for _, key in rows]).keys
    groups = Groups(np.array([group for group, _ in rows], np.int32), 4)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_SHORT", 1), ("_SHARE", 1), ("_REPEATS", 10**9)):
            patch.setattr(distinct_keys, name, value)
        found = number_keys(keys, groups)
    expected = list(dict.fromkeys(row for row in rows if row[0] >= 0))
    assert found.number_of.tolist() == [expected.index(r) if r[0] >= 0 else -1 for r in rows]
    assert found.group_of.tolist() == [group for group, _ in expected]
    firsts = [rows.index(pair) for pair in expected]
    assert (found.keys == keys[firsts]).all()


@pytest.mark.parametrize(
    ("distinct", "pays"), [(10, True), (1000, True), (4000, False), (10**9, False)]
)
def test_keys_that_seldom_repeat_are_not_sorted_out(distinct, pays):
    rng = np.random.default_rng(1)
    keys = Items.of(rng.integers(0, distinct, 5000)).keys
    assert (number_keys(keys, Groups(np.zeros(5000, np.int32), 1)) is not None) == pays
