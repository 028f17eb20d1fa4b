"""Watches by the clock: answers that come by themselves, numbered and in time."""

import pytest
from watched import T0, after, content, counted, replayed, spread, started, told, watch
from wire_messages import create

from sde.testing import LocalEngine


def test_a_watch_is_acknowledged_once_and_without_a_number():
    engine = LocalEngine()
    replies = engine.replies([create("u"), watch(every="1s")])
    (ack,) = [r for r in replies if r["request"] == "w"]
    assert (ack["op"], ack["status"], "number" in ack) == ("watch", "ok", False)


def test_every_answers_at_ticks_also_without_data():
    engine = started(create("u"), watch(every="1s"))
    engine.replies(data=spread(7))
    assert told(after(engine, 1)) == [(1, 7)]
    assert told(after(engine, 2)) == [(2, 7)]
    assert told(after(engine, 3, data=spread(5))) == [(3, 12)]
    assert told(engine.replies(data=spread(5))) == []


def test_a_tick_before_its_time_is_not_answered():
    engine = started(create("u"), watch(every="10s"))
    assert [told(after(engine, s)) for s in (1, 9.999)] == [[], []]
    assert told(after(engine, 10)) == [(1, 0)]


def test_answers_have_an_id_of_their_own_and_all_that_an_estimate_has():
    engine = started(create("u"), watch(every="1s", query={"key": "a"}))
    engine.replies(data=spread(9))
    (reply,) = after(engine, 1)
    assert (reply["id"], reply["request"], reply["op"]) == ("w#1", "w", "watch")
    asked = engine.ask(op="estimate", uid="u", query={"key": "a"})
    same = ("uid", "dataset", "kind", "value", "lower", "upper", "confidence", "tuples", "since")
    assert {n: reply[n] for n in same} == {n: asked[n] for n in same}


def test_ticks_that_waited_for_each_other_count_once():
    engine = started(create("u"), watch(every="1s"))
    for second in range(1, 6):
        engine.tick(T0 + second * 1000)
    assert told(engine.replies()) == [(1, 0)]
    assert told(after(engine, 6)) == [(2, 0)]


def test_a_missed_tick_does_not_shift_the_later_ones():
    engine = started(create("u"), watch(every="10s"))
    assert told(after(engine, 27)) == [(1, 0)]
    assert told(after(engine, 29)) == []
    assert told(after(engine, 30)) == [(2, 0)]


def test_a_replayed_log_gives_the_same_bytes_and_the_same_further_answers():
    engine = started(
        create("u"),
        create("v", scope="stream"),
        watch(every="1s"),
        watch("c", uid="v", stream="s", on="change", threshold=3),
        watch("when", every="2s", when=">= 12"),
    )
    for second in range(1, 5):
        after(engine, second, data=counted(second) + spread(3))
    engine.replies([{"id": "x", "op": "unwatch", "watch": "c"}])
    again = replayed(engine)
    assert [content(s) for s in again.stores] == [content(s) for s in engine.stores]
    for second in range(5, 9):
        data = counted(4, "t") + counted(4)
        assert after(again, second, data) == after(engine, second, data)


def test_numbers_survive_that_the_registry_is_written_anew(monkeypatch):
    def all_answers():
        engine = started(
            create("u"),
            watch(every="1s"),
            watch("c", on="change"),
            watch("a", every="1s", when=">9"),
        )
        answers = []
        for second in range(1, 12):
            answers += after(engine, second, data=spread(second % 3))
        return answers

    plain = all_answers()
    monkeypatch.setattr("sde.storage.fact_file._SMALLEST", 0)
    assert all_answers() == plain
    assert told(plain)[-1][0] == 11


@pytest.mark.parametrize(
    ("scope", "asked"), [("stream", {"stream": "s"}), ({"stream": "s"}, {}), ("dataset", {})]
)
def test_watches_work_at_every_scope(scope, asked):
    engine = started(create("u", scope=scope), watch(every="1s", **asked))
    engine.replies(data=counted(5) + counted(4, "t"))
    assert told(after(engine, 1)) == [(1, 9 if scope == "dataset" else 5)]


def test_a_stream_that_has_not_come_is_silent_until_it_does():
    engine = started(create("u", scope="stream"), watch(every="1s", stream="s"))
    engine.replies(data=counted(5, "t"))
    assert [told(after(engine, s)) for s in (1, 2)] == [[], []]
    numbers = told(after(engine, 3, data=counted(2)))
    assert [value for _, value in numbers] == [2]


def test_a_question_across_streams_is_watched():
    engine = LocalEngine()
    params = {"interval": 1, "window": 8, "basic_window": 4, "coefficients": 2}
    engine.run([create("u", "dft", key=None, value="v", scope="stream", params=params)])
    engine.run([watch(query={"type": "pairs", "threshold": 0.9}, every="1s")])
    rows = []
    for second in range(20):
        for n in range(6):
            value = float((second * 7) % 5) * (1 if n < 3 else -1) + (n % 3) * 0.001 * second
            message = {"dataset": "d", "stream": f"s{n}", "time": T0 + second * 1000}
            rows.append({**message, "values": {"v": value}})
    engine.replies(data=rows)
    ((number, pairs),) = told(after(engine, 1))
    asked = engine.ask(op="estimate", uid="u", query={"type": "pairs", "threshold": 0.9})
    assert (number, pairs) == (1, asked["value"])
    assert len(pairs) >= 3


def test_a_question_across_streams_names_none_of_them():
    engine = started(create("u", "dft", key=None, value="v", scope="stream"))
    query = {"type": "pairs", "threshold": 0.9}
    (reply,) = engine.replies([watch(query=query, stream="s1", every="1s")])
    assert (reply["status"], reply["field"]) == ("error", "stream")


def test_a_question_about_several_synopses_is_watched():
    engine = started(
        create("u"), create("v"), watch(uid=["u", "v"], query={"type": "inner_product"}, every="1s")
    )
    engine.replies(data=spread(6))
    assert told(after(engine, 1)) == [(1, 36)]


def test_a_synopsis_may_be_asked_twice_in_one_question():
    engine = started(
        create("u"), watch(uid=["u", "u"], query={"type": "inner_product"}, every="1s")
    )
    engine.replies(data=spread(6))
    assert told(after(engine, 1)) == [(1, 36)]
    replies = engine.replies([{"id": "x", "op": "delete", "uid": "u"}])
    assert [r["status"] for r in replies] == ["ok", "ok"]
    assert len([r for r in replies if "ended" in r]) == 1


@pytest.mark.parametrize("scope", ["dataset", {"stream": "s"}])
def test_many_watches_of_one_synopsis_each_get_their_own_answer(scope):
    keys = [f"k{i}" for i in range(40)]
    watches = [watch(f"w-{k}", query={"key": k}, every=f"{1 + i % 3}s") for i, k in enumerate(keys)]
    engine = started(create("u", scope=scope, params={"epsilon": 0.001}), *watches)
    engine.replies(data=[t for i, k in enumerate(keys) for t in counted(i, key=k)])
    replies = after(engine, 6)
    for i, key in enumerate(keys):
        assert told(replies, f"w-{key}") == [(1, i)]


def test_questions_of_different_types_share_a_tick():
    engine = started(
        create("u", "quantiles", key=None, value="v", scope={"stream": "s"}),
        watch("median", query={"type": "quantile", "q": 0.5}, every="1s"),
        watch("rank", query={"type": "rank", "value": 1.0}, every="1s"),
    )
    engine.replies(data=counted(5))
    replies = after(engine, 1)
    assert (told(replies, "median"), told(replies, "rank")) == ([(1, 1.0)], [(1, 1.0)])


@pytest.mark.parametrize(
    ("request_", "code", "field"),
    [
        (watch(uid="nope", every="1s"), "unknown_synopsis", "uid"),
        (watch(query={"type": "nope"}, every="1s"), "bad_query", "query.type"),
        (watch(query={"key": "a", "more": 1}, every="1s"), "bad_query", "query.more"),
        (watch(query={"type": "frequency"}, every="1s"), "bad_query", "query.key"),
        (watch(every="1s", stream="s"), "bad_query", "stream"),
        (watch(), "bad_request", "every"),
        (watch(every="1ms"), "bad_request", "every"),
        (watch(every="-1s"), "bad_request", "every"),
        (watch(every="1s", on="change"), "bad_request", "on"),
        (watch(on="close"), "bad_request", "on"),
        (watch(on="change", threshold="x%"), "bad_request", "threshold"),
        (watch(on="change", threshold=-1), "bad_request", "threshold"),
        (watch(every="1s", when="~ 5"), "bad_request", "when"),
        (watch(every="1s", when=">= nan"), "bad_request", "when"),
        (watch(every="1s", end=T0), "bad_query", "end"),
        ({"id": "w", "op": "unwatch", "watch": "nope"}, "unknown_watch", "watch"),
    ],
)
def test_a_watch_that_cannot_run_is_refused_by_name(request_, code, field):
    engine = started(create("u"))
    (reply,) = engine.replies([request_])
    assert (reply["status"], reply["code"], reply["field"]) == ("error", code, field)
    engine.settle()
    assert engine.due is None


def test_an_answer_that_cannot_be_given_is_an_error_for_its_watch_alone():
    engine = started(
        create("u", "quantiles", key=None, value="v", scope={"stream": "s"}),
        watch("median", query={"type": "quantile", "q": 0.5}, every="1s"),
        watch("rank", query={"type": "rank", "value": 1.0}, every="1s"),
    )
    replies = {r["request"]: r for r in after(engine, 1)}
    for name, query in (
        ("median", {"type": "quantile", "q": 0.5}),
        ("rank", {"type": "rank", "value": 1.0}),
    ):
        asked = engine.ask(op="estimate", uid="u", query=query)
        assert replies[name]["status"] == asked["status"]
        assert replies[name].get("code") == asked.get("code")
        assert replies[name].get("value") == asked.get("value")
        assert replies[name]["number"] == 1


def test_a_client_whose_clock_is_ahead_gets_the_answers_of_its_watch():
    engine = started(create("u"))
    engine.run([watch(every="1s")], time=T0 + 3_600_000)
    numbers = [n for second in range(1, 61) for n, _ in told(after(engine, second))]
    assert numbers == list(range(1, 60))
