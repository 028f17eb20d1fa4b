"""A windowed answer equals the synopsis built from exactly the tuples of the window."""

import base64

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_messages import create

from sde.records.loop import Progress
from sde.testing import LocalEngine
from synopses import KINDS, Items

T0 = 1_700_000_000_000
KINDS_TRIED = {
    "count_min": {"key": "k", "value": "v", "params": {"epsilon": 0.1, "delta": 0.1}},
    "hyperloglog": {"key": "k", "params": {"lg_k": 6}},
    "moments": {"key": None, "value": "v"},
    "theta": {"key": "k", "params": {"lg_k": 5}},
}


def synopsis_of(kind, rows):
    cls = KINDS[kind]
    built = cls(**KINDS_TRIED[kind].get("params", {}))
    if rows:
        built.add(Items.of([r["k"] for r in rows], values=[r["v"] for r in rows]))
    return built.to_bytes()


def tuples_of(rows):
    return [
        {
            "dataset": "d",
            "stream": r["s"],
            "time": T0 + r["t"],
            "values": {"k": r["k"], "v": r["v"]},
        }
        for r in rows
    ]


def random_rows(rng, count, spread, disorder):
    """Tuples whose times go up, each at most `disorder` behind the latest before it."""
    times = np.sort(rng.integers(0, spread, count))
    jitter = rng.integers(0, disorder + 1, count)
    order = np.argsort(times + jitter, kind="stable")
    return [
        {"s": f"s{rng.integers(4)}", "t": int(times[i]), "k": int(rng.integers(50)), "v": 1.5}
        for i in order
    ]


def batches(rng, rows):
    cuts = np.sort(rng.integers(0, len(rows) + 1, 4))
    return [part for part in np.split(np.array(rows, object), cuts) if len(part)]


def export(engine, uid, **fields):
    asked = engine.replies([{"id": "x", "op": "export", "uid": uid, **fields}])
    (reply,) = asked or engine.settle()
    engine.settle()
    assert reply["status"] == "ok", reply
    return reply


def window_request(kind, scope, window):
    return create("w", kind, scope=scope, window=window, **KINDS_TRIED[kind])


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(sorted(KINDS_TRIED)),
    scope=st.sampled_from(["dataset", "stream", {"stream": "s1"}]),
    panes=st.integers(1, 6),
    sliding=st.booleans(),
    lateness=st.sampled_from([0, 1000, 7000]),
)
def test_every_window_equals_its_synopsis_built_directly(
    seed, kind, scope, panes, sliding, lateness
):
    rng = np.random.default_rng(seed)
    slide, size = 2_000, 2_000 * panes
    window = {"type": "sliding", "size": f"{size}ms", "slide": f"{slide}ms"}
    if not sliding:
        window, slide = {"type": "tumbling", "size": f"{size}ms"}, size
    if lateness:
        window["lateness"] = f"{lateness}ms"
    engine = LocalEngine(shards=3)
    engine.run([window_request(kind, scope, {**window, "keep": "60s"})])
    rows = random_rows(rng, 120, 30_000, lateness)
    for part in batches(rng, rows):
        engine.replies(data=tuples_of(part), time=T0 + 40_000)
    engine.settle()
    streams = {"dataset": [None], "stream": ["s0", "s1", "s2", "s3"]}.get(str(scope), ["s1"])
    for stream in streams:
        seen = [r for r in rows if stream in (None, r["s"])]
        first = (T0 + min(r["t"] for r in rows)) // slide * slide
        named = {} if stream is None else {"stream": stream}
        for end in range(first + slide, T0 + 34_000, slide):
            inside = [r for r in seen if end - size <= T0 + r["t"] < end]
            reply = export(engine, "w", end=end, **named)
            assert base64.b64decode(reply["value"]) == synopsis_of(kind, inside)
            assert reply["tuples"] == len(inside)
            assert reply["window"] == {"start": end - size, "end": end}
        low, high = first + 4_000, first + 14_000
        inside = [r for r in seen if low <= T0 + r["t"] < high]
        pane = slide
        if (low % pane, high % pane) == (0, 0):
            reply = export(engine, "w", **{"from": low, "to": high}, **named)
            assert base64.b64decode(reply["value"]) == synopsis_of(kind, inside)


def described(engine, uid="w"):
    return engine.ask(op="describe", uid=uid)["value"]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), lateness=st.sampled_from(["500ms", "3s"]))
def test_every_tuple_is_applied_or_counted_as_dropped(seed, lateness):
    rng = np.random.default_rng(seed)
    engine = LocalEngine(shards=2)
    window = {"type": "tumbling", "size": "2s", "lateness": lateness, "skew": "10s", "keep": "20m"}
    engine.run([window_request("count_min", "dataset", window)])
    rows = random_rows(rng, 150, 30_000, 9_000)
    for row in rng.choice(rows, 10, replace=False):
        row["t"] += 10_000_000  # far ahead of its arrival
    for part in batches(rng, rows):
        engine.replies(data=tuples_of(part), time=T0 + 30_000)
    engine.settle()
    figures = described(engine)
    assert figures["future_dropped"] == 10
    applied = figures["tuples"] + figures["skipped"]
    assert applied + figures["late_dropped"] + figures["future_dropped"] == len(rows)
    assert figures["watermark"] <= T0 + 40_000


def test_two_orders_and_different_cuts_close_the_same_windows_with_the_same_answers():
    def closed(seed, cuts):
        rng = np.random.default_rng(seed)
        engine = LocalEngine(shards=3)
        window = {"type": "sliding", "size": "6s", "slide": "2s", "lateness": "5s"}
        watch = {"id": "watch", "op": "watch", "uid": "w", "on": "close", "query": {"key": 7}}
        engine.run([window_request("count_min", "dataset", window), watch])
        rows = sorted(random_rows(np.random.default_rng(5), 200, 40_000, 0), key=lambda r: r["t"])
        order = np.argsort([r["t"] + rng.integers(0, 4_000) for r in rows], kind="stable")
        rows = [rows[i] for i in order]
        found = []
        for part in np.array_split(np.array(rows, object), cuts):
            found += engine.replies(data=tuples_of(part), time=T0 + 50_000)
        found += engine.settle()
        return [(r["number"], r["window"]["end"], r["value"], r["tuples"]) for r in found]

    one, two = closed(1, 3), closed(2, 17)
    assert one == two
    assert len(one) > 10
    assert len({number for number, *_ in one}) == len(one)


@pytest.mark.parametrize("scope", ["dataset", "stream"])
def test_sessions_are_runs_without_a_pause_as_long_as_the_gap(scope):
    engine = LocalEngine(shards=3)
    window = {"type": "session", "gap": "5s", "keep": "1h", "lateness": "30s"}
    engine.run([window_request("count_min", scope, window)])
    times = [0, 3_000, 7_900, 30_000, 31_000, 4_500, 26_000]  # two of them late
    rows = [{"s": "s1", "t": t, "k": 7, "v": 1} for t in times]
    for row in rows:
        engine.replies(data=tuples_of([row]), time=T0 + 40_000)
    engine.settle()
    named = {"stream": "s1"} if scope == "stream" else {}
    latest = export(engine, "w", **named)
    assert latest["window"] == {"start": T0 + 26_000, "end": T0 + 36_000}
    assert latest["tuples"] == 3
    first = export(engine, "w", end=T0 + 12_900, **named)
    assert (first["tuples"], first["window"]["start"]) == (4, T0)


def test_a_session_that_goes_on_takes_few_panes():
    engine = LocalEngine(shards=1)
    window = {"type": "session", "gap": "1s", "keep": "1s"}
    engine.run([window_request("count_min", "dataset", window)])
    for start in range(0, 200_000, 10_000):
        rows = [{"s": "s", "t": start + t, "k": 1, "v": 1} for t in range(0, 10_000, 500)]
        engine.replies(data=tuples_of(rows), time=T0 + 300_000)
    engine.settle()
    assert described(engine)["panes"] < 30
    assert export(engine, "w")["tuples"] == 400


def test_windows_by_count_hold_the_last_tuples_of_a_stream():
    engine = LocalEngine(shards=2)
    engine.run([create("w", scope="stream", window={"type": "sliding", "size": 10, "slide": 5})])
    for start in (0, 13, 20):
        rows = [
            {"s": "s1", "t": 0, "k": n, "v": 1}
            for n in range(start, {0: 13, 13: 20, 20: 27}[start])
        ]
        engine.replies(data=tuples_of(rows))
    reply = engine.ask(op="estimate", uid="w", stream="s1", query={"type": "total"})
    assert (reply["value"], reply["window"]) == (7, {"start": 20, "end": 30, "unit": "tuples"})
    reply = engine.ask(op="estimate", uid="w", stream="s1", query={"type": "total"}, end=25)
    assert (reply["value"], reply["window"]) == (10, {"start": 15, "end": 25, "unit": "tuples"})
    assert described(engine)["panes"] <= 6


def test_windows_by_count_that_are_not_kept_any_more_are_refused():
    """They were answered with 0, and spans that began before with the part that was left."""
    engine = LocalEngine(shards=2)
    engine.run([create("w", scope="stream", window={"size": 10, "keep": 20})])
    for stream, count in (("long", 95), ("short", 12)):
        engine.send("d", [(stream, {"k": n}) for n in range(count)])

    def total(stream, **part):
        query = {"type": "total"}
        return engine.ask(op="estimate", uid="w", stream=stream, query=query, **part)

    assert total("short", end=10)["value"] == total("long", end=80)["value"] == 10
    assert total("long", **{"from": 60, "to": 90})["value"] == 30
    for part in ({"end": 10}, {"from": 0, "to": 90}):
        reply = total("long", **part)
        assert reply["code"] == "bad_query"
        assert "is not kept any more" in reply["message"]
    long, short = total("*", end=10)["value"]
    assert (long["stream"], long["value"], short["value"]) == ("long", None, 10)
    assert "is not kept any more" in long["warnings"][0]


def test_tuples_that_are_years_apart_find_their_panes():
    engine = LocalEngine(shards=1)
    engine.run([window_request("count_min", "stream", {"size": "1h", "lateness": "40d"})])
    year = 31_536_000_000
    times = [0, -year, 500, -year + 1, 700, -2 * year]
    rows = [{"s": "s1", "t": t, "k": 7, "v": 1} for t in times]
    engine.replies(data=tuples_of(rows), time=T0)
    engine.union.clear()  # before the watermark takes the old ones away
    for at, count in ((0, 3), (-year, 2), (-2 * year, 1)):
        end = ((T0 + at) // 3_600_000 + 1) * 3_600_000
        assert export(engine, "w", stream="s1", end=end)["tuples"] == count
    whole = export(engine, "w", stream="s1", **{"from": T0 - 3 * year, "to": T0 + 1000})
    assert whole["tuples"] == 6


def test_panes_that_no_window_can_need_are_given_back():
    engine = LocalEngine(shards=2)
    window = {"type": "sliding", "size": "4s", "slide": "2s", "keep": "2s", "lateness": "0s"}
    engine.run([window_request("count_min", "stream", window)])
    for start in range(0, 100_000, 2_000):
        rows = [{"s": f"s{n}", "t": start + n, "k": 1, "v": 1} for n in range(20)]
        engine.replies(data=tuples_of(rows), time=T0 + 200_000)
    engine.settle()
    figures = described(engine)
    assert figures["panes"] <= 20 * 5
    gone = engine.ask(op="estimate", uid="w", stream="s1", query={"key": 1}, end=T0 + 10_000)
    assert (gone["status"], gone["code"]) == ("error", "bad_query")


@pytest.mark.parametrize(
    ("window", "field"),
    [
        ({"type": "hopping", "size": "5m"}, "window.type"),
        ({"size": "-5m"}, "window.size"),
        ({"size": "0s"}, "window.size"),
        ({"size": 0}, "window.size"),
        ({"size": 2.5}, "window.size"),
        ({"size": "99999d"}, "window.size"),
        ({"type": "sliding", "size": "1m", "slide": "2m"}, "window.slide"),
        ({"type": "sliding", "size": "1m"}, "window.slide"),
        ({"type": "sliding", "size": "10h", "slide": "1ms"}, "window"),
        ({"type": "session"}, "window.gap"),
        ({"size": "5m", "nope": 1}, "window.nope"),
        ({"size": "5m", "format": "nope"}, "window.format"),
        ("5m", "window"),
    ],
)
def test_impossible_windows_are_refused_by_name(window, field):
    engine = LocalEngine()
    (reply,) = engine.run([create("w", window=window)]).values()
    assert (reply["status"], reply.get("field")) == ("error", field)


def test_tuples_without_a_readable_time_are_counted():
    engine = LocalEngine()
    engine.run([create("w", window={"size": "5m", "time": "at"})])
    rows = [{"at": "02/19/2019 06:07:14"}, {"at": "nonsense"}, {}, {"at": 1550556434}]
    data = [{"dataset": "d", "stream": "s", "values": {"k": 1, **row}} for row in rows]
    engine.replies(data=data)
    engine.settle()
    figures = described(engine)
    assert (figures["tuples"], figures["untimed"]) == (2, 2)


def test_dft_takes_a_window_by_count():
    """Two streams that move together tuple by tuple, whatever their times."""
    engine = LocalEngine(shards=1)
    window = {"type": "sliding", "size": 40, "slide": 10}
    params = {"coefficients": 4}
    engine.run(
        [create("w", "dft", key=None, value="v", scope="stream", window=window, params=params)]
    )
    rng = np.random.default_rng(2)
    walk = rng.normal(size=90).cumsum()
    rows = [
        {"dataset": "d", "stream": s, "time": int(T0 + rng.integers(10**6)), "values": {"v": f * x}}
        for x in walk.tolist()
        for s, f in (("a", 1.0), ("b", 2.0), ("c", -1.0))
    ]
    for start in range(0, len(rows), 50):
        engine.replies(data=rows[start : start + 50])
    found = engine.ask(op="estimate", uid="w", query={"type": "pairs", "threshold": 0.95})
    assert {tuple(sorted(pair[:2])) for pair in found["value"]} >= {("a", "b")}
    figures = engine.ask(op="describe", uid="w")["value"]
    assert (figures["params"]["window"], figures["params"]["basic_window"]) == (40.0, 10.0)


def test_what_is_in_order_in_its_partition_is_never_late():
    """One partition is read far ahead of the other; nothing is lost, and windows close by the
    slower one until it falls silent."""
    engine = LocalEngine(shards=2)
    engine.run([window_request("count_min", "dataset", {"size": "2s", "keep": "10m"})])
    for partition, stop in ((0, 60_000), (1, 20_000), (1, 60_000)):
        start = 20_000 if stop == 60_000 and partition else 0
        rows = [{"s": "s1", "t": t, "k": 7, "v": 1} for t in range(start, stop, 500)]
        data = tuples_of(rows)
        if partition == 0:  # tuples of both partitions are in the first batch
            engine.replies(data=data, time=T0 + 60_000)
            engine.union.clear()
            engine.tell(progress({"data/0": (T0 + 59_500, T0), "data/1": (T0, T0)}))
        else:
            engine.replies(data=data, partition=1, time=T0 + 60_000)
    engine.settle()
    figures = described(engine)
    assert (figures["tuples"], figures["late_dropped"]) == (240, 0)
    assert figures["watermark"] == T0 + 59_500


def progress(reached):
    return Progress(dataset="d", clocks={"|auto|3600000": reached})
