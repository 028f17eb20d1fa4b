"""An answer says which tuples came and are not in it; where none fitted, it claims no value."""

import pytest
from wire_messages import create

from sde.limits import StateLimits
from sde.testing import LocalEngine

T0 = 1_700_000_000_000
TUMBLING = {"type": "tumbling", "size": "10s", "time": "ts", "keep": "1h"}


def asked(engine, **fields):
    """An answer, which takes a batch more where the shards mean different windows."""
    replies = engine.replies([{"id": "q", "op": "estimate", "uid": "u", **fields}])
    (answer,) = [*replies, *engine.settle()]
    return answer


def running(*creates, **options):
    engine = LocalEngine(shards=4, **options)
    for reply in engine.run(creates).values():
        assert reply["status"] == "ok", reply
    return engine


def test_a_field_that_no_tuple_has_gives_no_value_and_a_warning_that_names_it():
    engine = running(create("u", "hyperloglog", "trader.id"))
    engine.send("d", [(f"s{n % 7}", {"trader": n}) for n in range(1000)])
    answer = asked(engine)
    assert answer["value"] is None
    assert answer.keys().isdisjoint({"lower", "upper", "confidence"})
    assert answer["warnings"] == ["field 'trader.id' was in none of 1,000 tuples"]


def test_without_any_tuple_zero_is_a_true_count():
    answer = asked(running(create("u", "hyperloglog", "k")))
    assert (answer["value"], answer["upper"], "warnings" in answer) == (0, 0, False)


def test_tuples_without_the_field_beside_others_are_told():
    engine = running(create("u", "moments", None, value="price"))
    prices = [{"price": 1}, {"price": "much"}, {}, {"price": 3}]
    engine.send("d", [("s", values) for values in prices])
    answer = asked(engine, query={"type": "mean"})
    expected = "field 'price' was missing or no number in 2 of 4 tuples, which were left out"
    assert (answer["value"], answer["tuples"], answer["warnings"]) == (2, 2, [expected])


def test_several_fields_are_named_together():
    engine = running(create("u", "count_min", "k", value="v"))
    engine.send("d", [("s", {"k": "a"}), ("s", {"v": 1})])
    (warning,) = asked(engine, query={"key": "a"})["warnings"]
    assert warning == (
        "one of the fields 'k', 'v' (a number) was missing or not of its type in all 2 tuples"
    )


def test_a_stream_is_warned_of_its_own_tuples_only():
    engine = running(create("u", "hyperloglog", "k", scope="stream"))
    engine.send("d", [("bad", {"x": 1}), ("good", {"k": 1}), ("bad", {"x": 2})])
    assert asked(engine, stream="bad")["warnings"] == ["field 'k' was in none of 2 tuples"]
    good = asked(engine, stream="good")
    assert (round(good["value"]), "warnings" in good) == (1, False)


def test_tuples_that_were_dropped_late_are_told_in_windowed_answers():
    engine = running(create("u", "hyperloglog", "k", window={**TUMBLING, "lateness": "5s"}))
    engine.send("d", [("s", {"k": n, "ts": T0 + 1000 * n}) for n in range(60)])
    engine.settle()
    engine.send("d", [("s", {"k": -n, "ts": T0 + n}) for n in range(3)])
    answer = asked(engine)
    assert answer["warnings"] == ["3 tuples were dropped: too late, by more than 5s"]
    assert round(answer["value"]) == answer["tuples"] == 10


def test_a_time_field_that_no_tuple_has_gives_no_value():
    engine = running(create("u", "hyperloglog", "k", window=TUMBLING))
    engine.send("d", [("s", {"k": 1, "when": T0})])
    answer = asked(engine)
    assert answer["value"] is None
    assert answer["warnings"] == ["1 tuple was dropped: no time in 'ts'"]


def test_an_empty_window_after_full_ones_is_empty_although_a_tuple_had_no_time():
    window = {**TUMBLING, "keep": "1h", "lateness": "0s"}
    engine = running(create("u", "hyperloglog", "k", window=window))
    values = [{"k": 1, "ts": T0}, {"k": 2}, {"k": 3, "ts": T0 + 99_000}]
    engine.send("d", [("s", each) for each in values])
    answer = asked(engine, end=T0 // 10_000 * 10_000 + 50_000)
    assert (answer["value"], answer["tuples"], len(answer["warnings"])) == (0, 0, 1)


def test_a_window_whose_time_has_not_come_is_told_to_be_empty_for_that_reason():
    engine = running(create("u", "hyperloglog", "k", window=TUMBLING))
    engine.send("d", [(f"s{n % 3}", {"k": n, "ts": T0 + 1000 * n}) for n in range(10)])
    past, coming = (asked(engine, end=T0 + offset) for offset in (10_000, 60_000))
    assert (round(past["value"]), "warnings" in past) == (10, False)
    assert (coming["value"], coming["warnings"]) == (
        0,
        [
            "the window begins at 2023-11-14T22:14:10Z: "
            "the latest tuple so far is of 2023-11-14T22:13:29Z"
        ],
    )


def test_a_table_of_a_window_whose_time_has_not_come_says_so():
    engine = running(create("u", "hyperloglog", "k", scope="stream", window=TUMBLING))
    engine.send("d", [(f"s{n % 3}", {"k": n, "ts": T0 + 1000 * n}) for n in range(10)])
    assert "warnings" not in asked(engine, stream="*", end=T0 + 10_000)
    (warning,) = asked(engine, stream="*", end=T0 + 60_000)["warnings"]
    assert warning.startswith("the window begins at 2023-11-14T22:14:10Z: the latest tuple so far")


def test_sessions_of_a_data_set_tell_what_they_left_out():
    engine = running(create("u", "hyperloglog", "k", window={"type": "session", "gap": "5s"}))
    engine.send("d", [("s", {"x": 1}), ("t", {"x": 1})])
    answer = asked(engine)
    assert (answer["value"], answer["warnings"]) == (None, ["field 'k' was in none of 2 tuples"])


def test_tuples_without_room_are_told():
    limits = StateLimits(max_streams=4)
    engine = running(create("u", "count_min", "k", scope="stream", window=TUMBLING), limits=limits)
    engine.send("d", [("s", {"k": 1, "ts": T0 - 10_000 * n}) for n in range(3000)])
    (warning,) = asked(engine, stream="s", query={"key": 1})["warnings"]
    assert "no room for them within the limits" in warning


def test_a_question_about_all_streams_tells_what_was_left_out():
    params = {"window": 16, "basic_window": 4, "coefficients": 2}
    engine = running(create("u", "dft", None, value="v", scope="stream", params=params))
    engine.send("d", [("s", {"v": 1.0}), ("t", {"v": "x"})])
    answer = asked(engine, query={"type": "pairs", "threshold": 0.5})
    assert answer["warnings"] == [
        "field 'v' was missing or no number in 1 of 2 tuples, which were left out",
        "2 of 2 streams take no part: they have no full window yet",
    ]


def test_answers_of_a_watch_have_warnings_too():
    engine = running(create("u", "hyperloglog", "k"))
    engine.ask(op="watch", uid="u", on="change")
    engine.send("d", [("s", {"x": 1})])
    (answer,) = [r for r in engine.settle() if r["op"] == "watch"]
    assert (answer["value"], answer["warnings"]) == (None, ["field 'k' was in none of 1 tuple"])


def test_a_question_about_two_synopses_says_which_one_left_tuples_out():
    engine = running(create("a", "ams", "k"), create("b", "ams", "typo"))
    engine.send("d", [("s", {"k": 1}), ("s", {"k": 2})])
    answer = engine.ask(op="estimate", uids=["a", "b"], query={"type": "join_size"})
    warning = "synopsis 2 of the question: field 'typo' was in none of 2 tuples"
    assert (answer["value"], answer["warnings"]) == (None, [warning])


@pytest.mark.parametrize(
    ("window", "lateness"),
    [
        ({"type": "tumbling", "size": "5m"}, "30s"),
        ({"type": "tumbling", "size": "20s"}, "20s"),
        ({"type": "session", "gap": "1s"}, "5s"),
        ({"type": "sliding", "size": "1h", "slide": "1m", "lateness": "0s"}, "0s"),
    ],
)
def test_a_window_waits_for_late_tuples_unless_it_is_told_not_to(window, lateness):
    reply = LocalEngine().ask(**create("u", "hyperloglog", "k", window=window))
    assert reply["window"]["lateness"] == lateness


def test_interleaved_streams_that_are_each_in_order_lose_nothing_by_default():
    """As two producers, or one that reads two partitions in turns, would send them."""
    engine = running(create("u", "hyperloglog", "k", window={"type": "tumbling", "size": "30s"}))
    for start in range(0, 300, 20):  # one stream, then the other, 20 s at a time
        for stream in ("a", "b"):
            engine.replies(
                data=[
                    {"dataset": "d", "stream": stream, "time": T0 + 1000 * s, "values": {"k": s}}
                    for s in range(start, start + 20)
                ]
            )
            engine.settle()
    described = engine.ask(op="describe", uid="u")["value"]
    assert (described["late_dropped"], described["late"] > 0) == (0, True)


def test_a_table_of_all_streams_warns_as_single_answers_do():
    window = {**TUMBLING, "lateness": "5s"}
    engine = running(create("u", "hyperloglog", "k", scope="stream", window=window))
    engine.send("d", [(f"s{n % 5}", {"k": n, "ts": T0 + 1000 * n}) for n in range(60)])
    engine.settle()
    engine.send("d", [("s0", {"k": 7, "ts": T0 - 60_000})])
    end = T0 // 10_000 * 10_000 - 50_000
    replies = engine.replies([{"id": "q", "op": "estimate", "uid": "u", "stream": "*", "end": end}])
    (table,) = [*replies, *engine.settle()]
    rows = {row["stream"]: row for row in table["value"]}
    alone = asked(engine, stream="s0", end=end)
    assert rows["s0"]["value"] == alone["value"] == 0
    assert rows["s0"]["warnings"] == alone["warnings"]
    assert "too late" in alone["warnings"][0]
