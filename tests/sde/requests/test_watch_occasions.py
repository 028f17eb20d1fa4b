"""Watches on change, on close and with a condition; how they end."""

import pytest
from watched import T0, after, counted, spread, started, told, watch
from wire_messages import create, tuples

from sde.limits import StateLimits
from sde.testing import LocalEngine


def test_on_change_is_quiet_when_nothing_changes():
    engine = started(create("u", "hyperloglog"), watch(query={}, on="change"))
    said = [told(after(engine, n, data=counted(3))) for n in range(1, 4)]
    assert [len(s) for s in said] == [1, 0, 0]
    assert [n for n, _ in told(after(engine, 4, data=counted(1, key="b")))] == [2]


@pytest.mark.parametrize(
    ("threshold", "sizes", "answered"),
    [
        (None, [1, 1, 2], [1, 2, 4]),
        (5, [1, 4, 1, 1, 6], [1, 7, 13]),
        (4, [1, 4, 1, 3, 1, 1], [1, 6, 11]),
        ("50%", [10, 5, 1, 7, 2], [10, 16, 25]),
        ("0%", [1, 1], [1, 2]),
    ],
)
def test_on_change_answers_when_the_value_moved_by_more_than_the_threshold(
    threshold, sizes, answered
):
    fields = {} if threshold is None else {"threshold": threshold}
    engine = started(create("u"), watch(on="change", **fields))
    said = []
    for size in sizes:
        said += told([*engine.replies(data=counted(size)), *engine.settle()])
    assert said == list(enumerate(answered, 1))


LISTS = {
    "top_k": {"value": "v"},
    "frequent_items": {"value": "v"},
    "sample": {},
    "histogram": {"key": None, "value": "v"},
    "moments": {"key": None, "value": "v"},
}


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("scope", ["dataset", "stream"])
def test_answers_that_are_lists_or_objects_are_quiet_too(kind, scope):
    query = {
        "frequent_items": {"type": "heavy_hitters", "share": 0.1},
        "histogram": {"type": "counts"},
    }.get(kind, {})
    asked = {} if scope == "dataset" else {"stream": "s"}
    engine = started(
        create("u", kind, scope=scope, **LISTS[kind]), watch(query=query, on="change", **asked)
    )
    first = [*engine.replies(data=counted(3)), *engine.settle()]
    assert [n for n, _ in told(first)] == [1]
    nothing = tuples("d", [("s", {"other": 1})])  # a tuple that is skipped changes nothing
    assert told([*engine.replies(data=nothing), *engine.settle()]) == []
    assert [n for n, _ in told([*engine.replies(data=counted(1)), *engine.settle()])] == [2]


def test_whole_numbers_are_numbers_to_thresholds_and_conditions():
    engine = started(
        create("u", "moments", key=None, value="v"),
        watch("change", query={"type": "count"}, on="change", threshold=5),
        watch("when", query={"type": "count"}, on="change", when=">= 3"),
    )
    said = [[*engine.replies(data=spread(2)), *engine.settle()] for _ in range(4)]
    assert [told(s, "change") for s in said] == [[(1, 2)], [], [], [(2, 8)]]
    assert [told(s, "when") for s in said] == [[], [(1, 4)], [], []]


def test_data_of_another_data_set_asks_nothing():
    engine = started(create("u"), create("o", dataset="other"), watch(on="change"))
    replies = [*engine.replies(data=counted(3, dataset="other")), *engine.settle()]
    assert replies == []


def test_a_change_of_any_of_several_synopses_is_noticed():
    engine = started(
        create("u"),
        create("o", dataset="other"),
        watch(uid=["u", "o"], query={"type": "inner_product"}, on="change"),
    )
    said = [told([*engine.replies(data=counted(2)), *engine.settle()])]
    said += [told([*engine.replies(data=counted(3, dataset="other")), *engine.settle()])]
    assert said == [[(1, 0)], [(2, 6)]]


# -- when -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [{"every": "1s"}, {"on": "change"}, {}])
def test_an_alert_answers_when_its_condition_becomes_true_and_false(mode):
    engine = started(
        create("u", "moments", key=None, value="v"),
        watch(query={"type": "sum"}, when=">= 10", **mode),
    )
    said = []
    for second, value in enumerate([4, 4, 4, 4, -8, 1, 3, -1], 1):
        data = tuples("d", [("s", {"v": value})])
        said += after(engine, second, data)
    assert [(r["number"], r["value"], r["holds"]) for r in said if "number" in r] == [
        (1, 12, True),
        (2, 8, False),
        (3, 12, True),
    ]


def test_an_alert_whose_condition_never_held_is_silent():
    engine = started(create("u"), watch(every="1s", when="> 100"))
    assert [told(after(engine, s, data=counted(5))) for s in range(1, 5)] == [[]] * 4


def windowed(size="10s", **fields):
    window = {"type": "tumbling", "size": size, "keep": "1h", "lateness": "0s", **fields}
    return create("u", window=window)


def timed(*seconds, stream="s"):
    return [
        {"dataset": "d", "stream": stream, "time": T0 + round(s * 1000), "values": {"k": "a"}}
        for s in seconds
    ]


def test_an_alert_on_windows_that_close_flips_both_ways():
    engine = started(windowed(), watch(on="close", when=">= 2"))
    said = []
    for second in [1, 11, 12, 21, 31, 32, 33, 41]:
        said += [*engine.replies(data=timed(second), time=T0 + 60_000), *engine.settle()]
    assert [(r["number"], r["value"], r["holds"]) for r in said] == [
        (1, 2, True),
        (2, 1, False),
        (3, 3, True),
    ]


# -- on close -------------------------------------------------------------------------------------


def test_on_close_answers_once_for_each_window_with_tuples():
    engine = started(windowed(), watch(on="close"))
    said = []
    for second in [1, 2, 3, 12, 14, 25, 61]:
        said += [*engine.replies(data=timed(second), time=T0 + 90_000), *engine.settle()]
    assert [(r["window"]["end"] - T0, r["value"], r["tuples"]) for r in said] == [
        (10_000, 3, 3),
        (20_000, 2, 2),
        (30_000, 1, 1),
    ]
    numbers = [r["number"] for r in said]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("scope", ["dataset", "stream"])
def test_several_watches_of_a_window_that_closes_each_get_their_own_answer(scope):
    asked = {} if scope == "dataset" else {"stream": "s1"}
    engine = started(
        {**windowed(), "scope": scope},
        watch("one", on="close", **asked),
        watch("two", on="close", query={"key": "a"}, **asked),
        watch("three", on="close", query={"key": "b"}, **asked),
    )
    data = [t for n in range(9) for t in timed(1, 2, stream=f"s{n}")]
    engine.replies(data=data, time=T0 + 60_000)
    replies = [*engine.replies(data=timed(20, stream="s5"), time=T0 + 60_000), *engine.settle()]
    total = 18 if scope == "dataset" else 2
    values = {r["request"]: r["value"] for r in replies}
    assert values == {"one": total, "two": total, "three": 0}
    assert len(replies) == 3


def test_a_session_that_ends_is_answered_once_with_all_that_was_in_it():
    window = {"type": "session", "gap": "5s", "keep": "1h"}
    engine = started(create("u", scope="stream", window=window), watch(on="close", stream="s"))
    said = []
    for second in [0, 3, 6, 9, 12, 30, 33, 60]:
        said += [*engine.replies(data=timed(second), time=T0 + 90_000), *engine.settle()]
    assert [(r["value"], r["window"]) for r in said] == [
        (5, {"start": T0, "end": T0 + 17_000}),
        (2, {"start": T0 + 30_000, "end": T0 + 38_000}),
    ]


@pytest.mark.parametrize(
    ("synopsis", "asked"),
    [
        (create("u"), {}),
        (create("u", window={"type": "session", "gap": "5s"}), {}),
        (create("u", scope="stream", window={"type": "tumbling", "size": 10}), {"stream": "s"}),
    ],
)
def test_on_close_is_refused_where_no_shard_can_tell_that_a_window_closed(synopsis, asked):
    engine = started(synopsis)
    (reply,) = engine.replies([watch(on="close", **asked)])
    assert (reply["status"], reply["field"]) == ("error", "on")


def test_windows_of_arrival_close_by_the_clock_without_data():
    engine = started(windowed(time="arrival"), watch(on="close"))
    engine.replies(data=counted(4), time=T0 + 1_000)
    engine.settle()
    assert engine.due is not None
    said = [
        r
        for s in (5, 12, 16, 40)
        for r in [*engine.tick(T0 + s * 1000, caught_up=True).replies(), *engine.settle()]
    ]
    assert told(said) == [((T0 + 10_000) // 10_000, 4)]


def test_a_producer_whose_clock_is_ahead_does_not_close_windows_of_arrival():
    """Its topic has the times of producers; all share a partition."""
    engine = started(windowed(time="arrival"))
    engine.tick(T0, caught_up=True).settle()
    engine.replies(data=counted(1), time=T0 + 5 * 3_600_000)
    engine.settle()
    for second in range(1, 30):
        engine.replies(data=counted(1), time=T0 + second * 1000)
        engine.tick(T0 + second * 1000, caught_up=True).settle()
    described = engine.ask(op="describe", uid="u")["value"]
    assert (described["tuples"], described["late_dropped"]) == (30, 0)
    assert described["watermark"] == T0 + 24_000


def test_arrivals_move_their_clock_also_when_the_last_tick_is_old():
    engine = started(windowed(time="arrival"))
    engine.tick(T0, caught_up=True).settle()
    for hour in (5, 6):  # nobody ticked meanwhile
        engine.replies(data=counted(1), time=T0 + hour * 3_600_000)
        engine.settle()
        engine.tick(T0 + hour * 3_600_000 + 1000).settle()
    engine.replies(data=counted(1), time=T0 + 6 * 3_600_000 + 2000)
    engine.settle()
    watermark = engine.ask(op="describe", uid="u")["value"]["watermark"]
    assert watermark == T0 + 6 * 3_600_000 + 2000


def test_a_watched_window_is_the_one_at_the_watermark():
    engine = started(windowed(), watch(every="1s"))
    engine.replies(data=timed(1, 2, 3) + timed(4, stream="t"), time=T0 + 60_000)
    engine.settle()
    (first,) = after(engine, 1)
    engine.replies(data=timed(15, 16), time=T0 + 60_000)
    engine.settle()
    (second,) = after(engine, 2)
    assert [(r["value"], r["window"]["end"] - T0) for r in (first, second)] == [
        (4, 10_000),
        (2, 20_000),
    ]


# -- ends -----------------------------------------------------------------------------------------


def ended(replies):
    return [(r["request"], r["status"]) for r in replies if "ended" in r]


def test_unwatch_ends_a_watch_and_says_so_once():
    engine = started(create("u"), watch(every="1s"), watch("other", every="1s"))
    replies = engine.replies([{"id": "x", "op": "unwatch", "watch": "w"}])
    assert ended(replies) == [("w", "ok")]
    later = [r for s in (1, 2) for r in after(engine, s)]
    assert ended(later) == []
    assert {r["request"] for r in later} == {"other"}
    (again,) = engine.replies([{"id": "y", "op": "unwatch", "watch": "w"}])
    assert again["code"] == "unknown_watch"


@pytest.mark.parametrize("how", ["delete", "ttl"])
def test_watches_die_with_their_synopsis_and_say_so_once(how):
    ttl = {"ttl": "5s"} if how == "ttl" else {}
    engine = started(
        create("u", **ttl),
        create("v"),
        watch(every="1s"),
        watch("change", on="change"),
        watch("both", uid=["v", "u"], query={"type": "inner_product"}, every="1s"),
        watch("other", uid="v", every="1s"),
    )
    delete = [] if how == "ttl" else [{"id": "x", "op": "delete", "uid": "u"}]
    replies = [*engine.tick(T0 + 5_000).replies(delete), *engine.settle()]
    assert sorted(ended(replies)) == [("both", "ok"), ("change", "ok"), ("w", "ok")]
    later = [r for s in (6, 7) for r in after(engine, s, data=counted(1))]
    assert {r["request"] for r in later} == {"other"}
    assert ended(later) == []


def test_a_shared_synopsis_keeps_the_watches_of_its_other_names():
    engine = started(create("u"), create("v", reuse=True), watch(every="1s"))
    engine.run([watch("other", uid="v", every="1s"), {"id": "x", "op": "delete", "uid": "u"}])
    assert {r["request"] for r in after(engine, 1)} == {"other"}


def test_a_synopsis_that_comes_again_has_no_watches():
    engine = started(create("u"), watch(every="1s"))
    engine.run([{"id": "x", "op": "delete", "uid": "u"}, {**create("u"), "id": "again"}])
    assert after(engine, 1) == []


# -- limits and repeats ---------------------------------------------------------------------------


def test_more_watches_than_the_limit_are_refused():
    engine = LocalEngine(limits=StateLimits(max_watches=2))
    replies = engine.run([create("u"), *(watch(f"w{n}", every="1s") for n in range(3))])
    assert [replies[f"w{n}"]["status"] for n in range(3)] == ["ok", "ok", "error"]
    assert replies["w2"]["code"] == "limit_exceeded"
    engine.run([{"id": "x", "op": "unwatch", "watch": "w0"}])
    assert engine.run([watch("w3", every="1s")])["w3"]["status"] == "ok"


def test_a_repeated_watch_runs_once_and_goes_on_counting():
    engine = started(create("u"), watch(every="1s"))
    after(engine, 1)
    (ack,) = engine.replies([watch(every="1s")])
    assert ack["status"] == "ok"
    assert told(after(engine, 2)) == [(2, 0)]


def test_a_watch_repeated_after_its_outcome_was_forgotten_still_runs_once():
    engine = started(create("u"), watch(every="1s"), limits=StateLimits(remembered_requests=1))
    after(engine, 1)
    engine.run([create("v")])
    (ack,) = engine.replies([watch(every="1s")])
    assert ack["status"] == "ok"
    assert told(after(engine, 2)) == [(2, 0)]
    assert len(ended(engine.replies([{"id": "x", "op": "delete", "uid": "u"}]))) == 1


# -- due ------------------------------------------------------------------------------------------


def test_due_says_when_the_next_tick_is_needed_and_nothing_when_nothing_waits():
    engine = started(create("u"), watch(on="change"))
    assert engine.due is None
    engine.replies([watch("e", every="5s")])
    assert engine.due == T0 + 5_000
    after(engine, 5.2)
    assert engine.due == T0 + 10_000
    engine.replies([watch("f", every="1s")])
    assert engine.due == T0 + 6_200
    engine.replies([{"id": "x", "op": "unwatch", "watch": "f"}])
    assert engine.due == T0 + 10_000
    engine.replies([{"id": "y", "op": "delete", "uid": "u"}])
    assert engine.due is None


def test_a_clock_that_was_set_back_changes_nothing():
    engine = started(create("u"), watch(every="1s"))
    assert told(after(engine, 10)) == [(1, 0)]
    assert told(after(engine, 3)) == []
    assert engine.due == T0 + 11_000
    assert told(after(engine, 11)) == [(2, 0)]


def test_a_condition_on_what_is_no_number_is_said_to_be_none():
    """The watch was accepted, and never told anything."""
    engine = started(create("u", "moments", value="v"), watch(query={}, when="> 3"))
    replies = [*engine.replies(data=tuples("d", [("s", {"k": "a", "v": 9})])), *engine.settle()]
    assert [reply["code"] for reply in replies] == ["bad_query"]
    assert "expected a question whose value is a number" in replies[0]["message"]
