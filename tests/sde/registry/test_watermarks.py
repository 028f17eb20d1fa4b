"""Watermarks: by the partition that is furthest behind, and never by where batches are cut."""

import numpy as np
import pytest
from wire_messages import create

from sde.limits import StateLimits
from sde.registry.registry import Registry
from sde.registry.watermarks import BEGINNING, SILENCE, Watermarks
from sde.testing import LocalEngine

T0 = 1_700_000_000_000


def learned(marks, news):
    time = marks.after("d", "c", news)
    marks.learn("d", "c", news)
    marks.set("d", "c", time)
    return time


def test_a_partition_that_is_read_slowly_holds_the_watermark_however_long_it_takes():
    marks = Watermarks()
    assert learned(marks, {"a": (100, 0), "b": (50, 0)}) == 50
    for n in range(1, 5):
        assert learned(marks, {"a": (1000 * n, n * SILENCE)}) == 50
    assert learned(marks, {"b": (700, 5)}) == 700


def test_a_partition_that_falls_silent_holds_nobody_up():
    """Silent: no tuples from one caught-up tick to another, with nothing left to be read."""
    marks = Watermarks()
    learned(marks, {"a": (100, 0), "b": (50, 0)})
    marks.on_tick(T0, {})
    marks.on_tick(T0 + SILENCE - 1, {})
    assert learned(marks, {"a": (900, 0)}) == 50
    marks.on_tick(T0 + SILENCE, {})
    assert learned(marks, {"a": (5000, 0)}) == 5000
    assert learned(marks, {"b": (60, 0)}) == 5000  # a watermark never goes back
    assert learned(marks, {"a": (9000, 0)}) == 5000  # and b counts again
    assert learned(marks, {"b": (8000, 0)}) == 8000


def test_a_partition_with_tuples_between_the_ticks_is_not_silent():
    marks = Watermarks()
    learned(marks, {"a": (100, 0), "b": (50, 0)})
    for n in range(5):
        marks.on_tick(T0 + n * SILENCE, {})
        learned(marks, {"a": (1000 + n, 0), "b": (60 + n, 0)})
    assert marks.get("d", "c") == 64


def test_ticks_are_asked_for_while_a_partition_is_behind_others():
    marks = Watermarks()
    learned(marks, {"a": (100, 0)})
    assert marks.next_due(T0) is None
    learned(marks, {"b": (50, 0)})
    assert T0 < marks.next_due(T0) < T0 + SILENCE
    for time in (T0, T0 + SILENCE):
        marks.on_tick(time, {})
    assert marks.next_due(T0) is None


def test_of_a_data_set_that_begins_all_partitions_count_until_they_are_silent():
    marks = Watermarks()
    marks.partitions = ["a", "b", "c"]
    for news, expected in (({"a": (900, 0)}, None), ({"b": (50, 0)}, None)):
        news = marks.beginning("d", "c", news)
        assert marks.after("d", "c", news) == expected
        marks.learn("d", "c", news)
    assert not marks.behind()
    assert marks.next_due(T0) == T0 + BEGINNING // 3
    left = {"a": 7, "b": 0, "c": 1}  # c is being read
    marks.on_tick(T0, left)
    marks.on_tick(T0 + SILENCE, left)
    assert not marks.behind()
    left["c"] = 0
    marks.on_tick(T0 + SILENCE, left)
    marks.on_tick(T0 + SILENCE + BEGINNING - 1, left)
    assert not marks.behind()
    marks.on_tick(T0 + SILENCE + BEGINNING, left)
    assert marks.behind() == [("d", "c", 900)]  # b has been silent long enough, too


def test_a_data_set_that_has_tuples_in_all_partitions_waits_for_no_tick():
    marks = Watermarks()
    marks.partitions = ["a", "b"]
    news = marks.beginning("d", "c", {"a": (9, 0), "b": (5, 0)})
    assert marks.after("d", "c", news) == 5


# -- through the engine ---------------------------------------------------------------------------


def row(seconds, dataset="d"):
    values = {"k": "a"}
    time = T0 + round(1000 * seconds)
    return {"dataset": dataset, "stream": "s", "time": time, "values": values}


def windowed(uid="w", **fields):
    return create(uid, window={"size": "1s", "keep": "10m"}, **fields)


def described(engine, uid="w"):
    return engine.ask(op="describe", uid=uid)["value"]


def test_what_is_in_order_in_its_partition_is_kept_when_a_batch_has_none_of_it():
    """A backlog of a minute; of partition 0 a batch holds tuples of another data set only."""
    engine = LocalEngine(shards=1)
    engine.run([windowed()])
    for partition in (0, 1):
        engine.run(data=[row(0)], partition=partition, time=T0)
        engine.settle()
    engine.run(data=[row(60)], partition=1, time=T0 + 60_000)
    engine.settle()
    for second in range(1, 51):
        engine.run(data=[row(second)], partition=0, time=T0 + 1000 * second)
        engine.settle()
    told = described(engine)
    assert (told["tuples"], told["late"], told["late_dropped"]) == (53, 0, 0)
    assert told["watermark"] == T0 + 50_000


@pytest.mark.parametrize("seed", range(5))
def test_any_cut_of_a_backlog_into_batches_keeps_what_is_in_order(seed):
    rng = np.random.default_rng(seed)
    engine = LocalEngine(shards=2)
    engine.run([windowed()])
    left = [[row(n / 2) for n in range(200)] for _ in range(3)]
    for partition in range(3):  # all have begun
        engine.run(data=[left[partition].pop(0)], partition=partition, time=T0)
        engine.settle()
    while any(left):
        partition = int(rng.choice([n for n in range(3) if left[n]]))
        taken = left[partition][: rng.integers(1, 60)]
        del left[partition][: len(taken)]
        engine.run(data=taken, partition=partition, time=taken[-1]["time"])
        engine.tick(T0 + 10**7, caught_up=False)
        engine.settle()
    told = described(engine)
    assert (told["tuples"], told["late_dropped"]) == (600, 0)
    assert told["watermark"] == T0 + 99_500


def test_windows_go_on_without_a_partition_that_is_silent():
    engine = LocalEngine(shards=2)
    engine.run([windowed()])
    for partition in (0, 1):
        engine.run(data=[row(0)], partition=partition)
        engine.settle()
    engine.run(data=[row(60)], partition=1)
    engine.settle()
    assert engine.due is not None
    assert described(engine)["watermark"] == T0
    for time in (T0 + 61_000, T0 + 66_000, T0 + 71_000):
        engine.tick(time, caught_up=True).settle()
    assert engine.due is None
    engine.run(data=[row(72)], partition=1)
    engine.settle()
    assert described(engine)["watermark"] == T0 + 72_000


def test_a_registry_that_is_read_again_knows_who_is_quiet():
    registry = Registry(StateLimits())
    engine = LocalEngine(shards=1)
    engine.run([windowed()])
    engine.run(data=[row(0)], partition=0)
    engine.run(data=[row(9)], partition=1)
    engine.settle()
    engine.tick(T0 + 10_000, caught_up=True).settle()
    written = engine.shard(0).registry
    for fact in written.facts():
        registry.apply(fact)
    assert list(registry.watermarks) == list(written.watermarks)
    registry.tick(T0 + 10_000 + SILENCE, caught_up=True)
    assert [reached for *_, reached, _ in registry.watermarks] == [{}]


PARTITIONS = {"data/0": 0, "data/1": 0, "data/2": 0}


def test_history_whose_first_batch_holds_one_partition_only_is_kept():
    """Before, the clock ran ahead with the first partition, and the others came late."""
    engine = LocalEngine(shards=2)
    engine.tick(T0, left=PARTITIONS).settle()
    engine.run([windowed()])
    for partition in range(3):
        engine.run(data=[row(second) for second in range(60)], partition=partition)
        engine.settle()
        engine.tick(T0 + 1000 * partition, caught_up=True, left=PARTITIONS).settle()
    told = described(engine)
    assert (told["tuples"], told["late_dropped"]) == (180, 0)
    assert told["watermark"] == T0 + 59_000


def test_windows_of_a_data_set_in_one_partition_close_when_the_others_are_silent():
    engine = LocalEngine(shards=2)
    engine.tick(T0, left=PARTITIONS).settle()
    watch = {"op": "watch", "id": "on", "uid": "w", "query": {"type": "total"}, "on": "close"}
    engine.run([windowed(), watch])
    engine.run(data=[row(second) for second in range(60)], partition=1)
    engine.settle()
    assert described(engine)["watermark"] is None
    assert engine.due is not None
    closed = []
    for late in (1_000, 2_000, 5_000):
        time = T0 + late
        closed += engine.tick(time, caught_up=True, left=PARTITIONS).settle()
    assert described(engine)["watermark"] == T0 + 59_000
    assert closed
    assert engine.due is None


def test_a_registry_that_is_read_again_knows_who_has_not_begun():
    engine, registry = LocalEngine(shards=1), Registry(StateLimits())
    engine.tick(T0, left=PARTITIONS).settle()
    engine.run([windowed()])
    engine.run(data=[row(0)], partition=0)
    engine.settle()
    written = engine.shard(0).registry
    for fact in written.facts():
        registry.apply(fact)
    assert list(registry.watermarks) == list(written.watermarks)
    assert registry.watermarks.partitions == sorted(PARTITIONS)
    assert registry.watermarks.get("d", "time:1000") is None


# -- their end ------------------------------------------------------------------------------------


def test_the_watermark_of_a_data_set_ends_with_its_last_window():
    engine = LocalEngine(shards=1)
    for n in range(30):
        dataset = f"day-{n}"
        request = {**windowed(dataset=dataset), "id": f"c{n}"}
        engine.run([request, {**windowed("v", dataset=dataset), "id": f"v{n}"}])
        engine.run(data=[row(0, dataset)])
        engine.settle()
        engine.run([{"id": f"x{n}", "op": "delete", "uid": "v"}])
        assert described(engine)["watermark"] == T0
        engine.run([{"id": f"d{n}", "op": "delete", "uid": "w"}])
    assert list(engine.shard(0).registry.watermarks) == []


def test_progress_of_a_window_that_was_deleted_meanwhile_leaves_nothing():
    engine = LocalEngine(shards=1)
    engine.run([windowed()])
    engine.run([{"id": "x", "op": "delete", "uid": "w"}], [row(0)])
    engine.run([windowed("v", dataset="other"), create("u")], [row(1)])
    engine.settle()
    assert list(engine.shard(0).registry.watermarks) == []


def test_a_window_that_is_left_keeps_the_watermark_of_its_own_clock():
    engine = LocalEngine(shards=1)
    engine.run([windowed(), create("v", window={"size": "1s", "skew": "2h"})])
    engine.run(data=[row(5)])
    engine.settle()
    engine.run([{"id": "x", "op": "delete", "uid": "v"}])
    assert described(engine)["watermark"] == T0 + 5_000
    assert len(list(engine.shard(0).registry.watermarks)) == 1
