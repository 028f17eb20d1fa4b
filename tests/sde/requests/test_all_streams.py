"""One question about all streams: a row for each, what an answer about it alone says."""

import pytest
from exchanging import T0, WINDOWS, feed, filled, make, rows
from wire_messages import create, tuples

from clients import BadInput, Client
from sde.requests import tables
from sde.testing import LocalEngine, LocalTransport
from synopses import KINDS, QueryError

PLAIN = {"query": {"type": "total"}}


def ask_all(engine, uid="u", **fields):
    """The reply about all streams; asked again by itself if the shards' windows differ."""
    request = {"id": f"a-{engine.batch}", "op": "estimate", "uid": uid, "stream": "*", **fields}
    (reply,) = engine.replies([request]) or engine.settle()
    return reply


def ask_one(engine, stream, **fields):
    return engine.ask(op="estimate", uid="u", stream=stream, **fields)


def counted(counts, shards=3, **fields):
    """An engine with a count of each stream."""
    engine = LocalEngine(shards=shards)
    engine.run([create("u", scope="stream", **fields)])
    engine.run(data=tuples("d", [(s, {"k": "a"}) for s, n in counts.items() for _ in range(n)]))
    return engine


def names(reply):
    return [row["stream"] for row in reply["value"]]


def alike(row, answer):
    return {name: answer.get(name) for name in row} == row


def questions():
    return [
        pytest.param(kind, question.name, id=f"{kind}-{question.name}")
        for kind, cls in KINDS.items()
        for question in cls.questions.values()
        if not question.across and not question.others
    ]


@pytest.mark.parametrize(("kind", "question"), questions())
def test_a_row_says_what_the_answer_about_its_stream_alone_says(kind, question):
    engine = filled(make("u", kind, "stream"))
    query = KINDS[kind].example_query(question)
    reply = ask_all(engine, query=query)
    assert reply["status"] == "ok", reply
    assert names(reply) == [f"s{n}" for n in range(7)]
    assert (reply["streams"], reply["unanswered"], reply["stream"]) == (7, 0, "*")
    for row in reply["value"]:
        assert alike(row, ask_one(engine, row["stream"], query=query))


@pytest.mark.parametrize("window", ["session", "count"])
def test_a_row_of_a_window_that_each_stream_has_of_its_own_says_which(window):
    engine = filled(make("u", "count_min", "stream", window=WINDOWS[window]))
    for row in ask_all(engine, **PLAIN)["value"]:
        answer = ask_one(engine, row["stream"], **PLAIN)
        assert row["window"] == answer["window"]
        assert alike(row, answer)


@pytest.mark.parametrize("window", ["tumbling", "sliding"])
@pytest.mark.parametrize("span", [{}, {"end": T0 // 20_000 * 20_000 + 40_000}], ids=["open", "end"])
def test_rows_of_windows_by_time_are_all_about_the_same_one(window, span):
    engine = filled(make("u", "count_min", "stream", window=WINDOWS[window]), shards=5)
    reply = ask_all(engine, **PLAIN, **span)
    (only,) = {(row["window"]["start"], row["window"]["end"]) for row in reply["value"]}
    for row in reply["value"]:
        exactly = ask_one(engine, row["stream"], end=only[1], **PLAIN)
        assert alike(row, exactly)
    assert sum(row["tuples"] for row in reply["value"]) > 0


def test_a_span_of_panes_is_asked_of_every_stream():
    engine = filled(make("u", "count_min", "stream", window=WINDOWS["tumbling"]))
    reply = ask_all(engine, **PLAIN, **{"from": T0, "to": T0 + 60_000})
    assert sum(row["tuples"] for row in reply["value"]) == 150


def test_a_session_that_ends_at_a_time_answers_for_its_stream_and_the_others_say_why_not():
    engine = filled(make("u", "count_min", "stream", window=WINDOWS["session"]))
    some = ask_one(engine, "s3", **PLAIN)
    reply = ask_all(engine, end=some["window"]["end"], **PLAIN)
    of_all = {row["stream"]: row for row in reply["value"]}
    assert of_all["s3"]["value"] == some["value"]
    without = [row for row in reply["value"] if row["value"] is None]
    assert reply["unanswered"] == len(without) > 0
    assert without[0]["warnings"] == ["no session of it ends there"]


def test_pages_hold_every_stream_once_in_the_order_of_names():
    engine = counted({f"s{n:02}": n + 1 for n in range(23)})
    pages, after = [], None
    while True:
        reply = ask_all(engine, limit=5, after=after, **PLAIN)
        pages.append(names(reply))
        after = reply.get("next")
        if after is None:
            break
    assert [len(page) for page in pages] == [5, 5, 5, 5, 3]
    assert [name for page in pages for name in page] == [f"s{n:02}" for n in range(23)]


def test_top_has_the_largest_values_first_and_equal_ones_by_name():
    engine = counted({"d": 1, "b": 5, "c": 5, "a": 2, "e": 9})
    reply = ask_all(engine, top=3, **PLAIN)
    assert [(row["stream"], row["value"]) for row in reply["value"]] == [
        ("e", 9.0),
        ("b", 5.0),
        ("c", 5.0),
    ]
    assert (reply["streams"], "next" in reply) == (5, False)


def test_the_largest_values_of_a_question_without_numbers_are_refused():
    engine = filled(make("u", "top_k", "stream"))
    reply = ask_all(engine, top=3)
    assert (reply["code"], reply["field"]) == ("bad_query", "top")
    assert "a number" in reply["message"]


def test_the_largest_values_of_too_many_streams_are_refused(monkeypatch):
    monkeypatch.setattr(tables, "_MOST_RANKED", 3)
    engine = counted({f"s{n}": 1 for n in range(5)}, shards=1)
    reply = ask_all(engine, top=1, **PLAIN)
    assert (reply["code"], reply["field"]) == ("limit_exceeded", "top")
    assert names(ask_all(engine, limit=2, **PLAIN)) == ["s0", "s1"]


def test_a_stream_that_cannot_be_answered_has_no_value_and_spoils_no_other(monkeypatch):
    engine = counted({"a": 1, "b": 2, "c": 3})
    total = KINDS["count_min"].total

    def total_unless_two(self):
        if total(self).value == 2:
            raise QueryError("query.k", 3, "at most 2")
        return total(self)

    monkeypatch.setattr(KINDS["count_min"], "total", total_unless_two)
    reply = ask_all(engine, **PLAIN)
    assert [row["value"] for row in reply["value"]] == [1.0, None, 3.0]
    assert reply["value"][1]["warnings"] == ["query.k=3: expected at most 2"]
    largest = ask_all(engine, top=3, **PLAIN)
    assert names(largest) == ["c", "a"]
    assert reply["unanswered"] == largest["unanswered"] == 1


@pytest.mark.parametrize(
    ("made", "request_", "field"),
    [
        (make("u", "count_min"), PLAIN, "stream"),
        (make("u", "count_min", {"stream": "s1"}), PLAIN, "stream"),
        (make("u", "dft", "stream"), {"query": {"type": "pairs", "threshold": 0.9}}, "stream"),
        (make("u", "count_min", "stream"), {"query": {"type": "nothing"}}, "query.type"),
        (make("u", "quantiles", "stream"), {"query": {"q": 7}}, "query.q"),
        (make("u", "count_min", "stream"), {**PLAIN, "sites": "*"}, "sites"),
        (make("u", "count_min", "stream"), {**PLAIN, "end": 5}, "end"),
        (make("u", "count_min", "stream"), {**PLAIN, "top": 0}, "top"),
        (make("u", "count_min", "stream"), {**PLAIN, "top": 5001}, "top"),
        (make("u", "count_min", "stream"), {**PLAIN, "limit": 5001}, "limit"),
        (make("u", "count_min", "stream"), {**PLAIN, "top": 5, "limit": 5}, "limit"),
        (make("u", "count_min", "stream"), {**PLAIN, "after": "a"}, "after"),
        (make("u", "count_min", "stream"), {**PLAIN, "stream": "s1", "top": 1}, "top"),
    ],
)
def test_what_makes_no_sense_is_refused_and_the_field_named(made, request_, field):
    reply = ask_all(filled(made), **request_)
    assert (reply["status"], reply.get("field")) == ("error", field), reply


def test_several_synopses_are_refused():
    reply = LocalEngine().ask(op="estimate", uids=["u", "v"], stream="*")
    assert (reply["code"], reply["field"]) == ("bad_request", "uids")


def test_a_synopsis_without_streams_has_an_empty_table():
    engine = LocalEngine()
    engine.run([create("u", scope="stream")])
    reply = ask_all(engine, **PLAIN)
    assert (reply["value"], reply["streams"]) == ([], 0)


def test_a_stream_that_is_named_as_all_are_has_a_row_and_is_asked_by_a_scope_of_its_own():
    engine = LocalEngine()
    engine.run([create("u", scope="stream"), create("v", scope={"stream": "*"})])
    engine.run(data=tuples("d", [("*", {"k": "a"}), ("*", {"k": "b"}), ("s", {"k": "a"})]))
    assert [(r["stream"], r["value"]) for r in ask_all(engine, **PLAIN)["value"]] == [
        ("*", 2.0),
        ("s", 1.0),
    ]
    assert engine.ask(op="estimate", uid="v", **PLAIN)["value"] == 2.0
    refused = engine.ask(op="estimate", uid="v", stream="*", **PLAIN)
    assert "this one is of one stream" in refused["message"]
    assert engine.ask(op="export", uid="u", stream="*")["tuples"] == 2


def test_a_watch_of_all_streams_is_refused_with_the_way_to_do_it():
    reply = LocalEngine().ask(op="watch", uid="u", stream="*", every="1s")
    assert (reply["code"], reply["field"]) == ("bad_request", "stream")
    assert '"each": "stream"' in reply["message"]


@pytest.mark.parametrize("window", [None, *WINDOWS])
def test_the_figures_of_all_streams_add_up_to_those_of_the_synopsis(window):
    engine = filled(make("u", "count_min", "stream", window=window and WINDOWS[window]))
    feed(engine, [{**rows(count=1)[0], "values": {"v": 1}}])  # without its key
    reply = engine.ask(op="streams", uid="u")
    whole = engine.ask(op="describe", uid="u")["value"]
    assert names(reply) == [f"s{n}" for n in range(7)]
    for figure in ("tuples", "skipped", "bytes"):
        found = sum(row[figure] for row in reply["value"])
        assert found == pytest.approx(whole[figure], abs=7 if figure == "bytes" else 0)
    assert reply["streams"] == whole["streams"] == 7


def test_streams_come_in_pages():
    engine = counted({f"s{n:02}": 1 for n in range(7)})
    first = engine.ask(op="streams", uid="u", limit=4)
    rest = engine.ask(op="streams", uid="u", limit=4, after=first["next"])
    assert names(first) + names(rest) == [f"s{n:02}" for n in range(7)]
    assert "next" not in rest


def test_streams_of_a_whole_data_set_are_refused():
    engine = filled(make("u", "count_min"))
    reply = engine.ask(op="streams", uid="u")
    assert (reply["code"], reply["field"]) == ("bad_query", "uid")
    assert 'a synopsis of scope "stream"; this one is of the whole data set' in reply["message"]


def test_the_client_fetches_the_answers_of_all_streams_page_by_page():
    engine = counted({f"s{n:04}": 1 for n in range(5003)}, shards=2)
    with Client(LocalTransport(engine)) as sde:
        synopsis = sde.synopsis("u")
        answers = synopsis.estimate_streams("total")
        assert [answer.stream for answer in answers] == [f"s{n:04}" for n in range(5003)]
        assert {answer.value for answer in answers} == {1.0}
        assert len(synopsis.streams()) == 5003
        assert [one.stream for one in synopsis.estimate_streams("total", top=2)] == [
            "s0000",
            "s0001",
        ]
        with pytest.raises(BadInput, match="estimate_streams"):
            synopsis.estimate("total", stream="*")
