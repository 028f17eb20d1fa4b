"""The watches that run can be listed, with what they ask and how far they have got."""

import pytest
from click.testing import CliRunner
from wire_messages import create, tuples

from clients import Client, UnknownSynopsis
from clients.cli import main
from sde.testing import LocalEngine, LocalTransport
from sde.testing.messages import TIME

TOTAL = {"type": "total"}


def watch(watch_id, **fields):
    return {"id": watch_id, "op": "watch", "uid": "u", "query": TOTAL, **fields}


@pytest.fixture
def engine():
    engine = LocalEngine(shards=2)
    window = {"type": "tumbling", "size": "10s"}
    creates = [
        create("u"),
        create("v"),
        create("w", window=window),
        {**create("o"), "dataset": "other"},
    ]
    engine.tick(TIME).run(creates)
    return engine


def listed(engine, **fields):
    reply = engine.ask(op="watches", id=f"l-{engine.batch}", **fields)
    assert reply["status"] == "ok", reply
    return reply["value"]


def test_a_watch_is_listed_with_its_question_and_occasion(engine):
    engine.run([watch("a", every="5s"), watch("b", on="change", threshold="5%", uid="v")])
    first, second = listed(engine)
    assert first == {
        "watch": "a",
        "uids": ["u"],
        "query": TOTAL,
        "every": "5s",
        "since": TIME,
        "due": TIME + 5000,
        "number": 0,
    }
    assert second["on"] == "change"
    assert (second["threshold"], second["uids"], "due" in second) == ("5%", ["v"], False)


def test_the_number_is_that_of_the_last_answer_and_due_the_next_time(engine):
    engine.run([watch("a", every="5s"), watch("b", when=">= 2")])
    for second in (5, 10):
        answers = engine.tick(TIME + second * 1000).replies()
        assert [a["number"] for a in answers if a["request"] == "a"] == [second // 5]
    engine.replies(data=tuples("d", [("s", {"k": "x"})] * 3))
    engine.settle()
    by_time, by_condition = listed(engine)
    assert (by_time["number"], by_time["due"]) == (2, TIME + 15_000)
    assert (by_condition["number"], by_condition["holds"]) == (1, True)


def test_numbers_that_windows_and_batches_give_are_left_out(engine):
    engine.run(
        [
            watch("a", on="close", uid="w"),
            watch("b", on="change", each="key", query={"type": "frequency"}),
        ]
    )
    assert ["number" in each for each in listed(engine)] == [False, False]


def test_an_ended_watch_is_not_listed(engine):
    engine.run([watch("a", every="5s"), watch("b", every="5s", uid="v")])
    engine.run([{"id": "x", "op": "unwatch", "watch": "a"}])
    assert [each["watch"] for each in listed(engine)] == ["b"]
    engine.run([{"id": "y", "op": "delete", "uid": "v"}])
    assert listed(engine) == []


def test_those_of_one_synopsis_or_data_set_are_listed(engine):
    requests = [watch("a", every="5s"), watch("b", every="5s", uid="o")]
    several = watch("c", every="5s", uid=None, uids=["u", "v"], query={"type": "inner_product"})
    for reply in engine.replies([*requests, several]):
        assert reply["status"] == "ok", reply
    assert [each["watch"] for each in listed(engine, uid="v")] == ["c"]
    assert [each["watch"] for each in listed(engine, dataset="d")] == ["a", "c"]
    assert [each["watch"] for each in listed(engine, dataset="nothing")] == []


def test_watches_come_in_pages(engine):
    engine.run([watch(f"w{n}", every="5s") for n in range(5)])
    first = engine.ask(op="watches", limit=3)
    rest = engine.ask(op="watches", limit=3, after=first["next"], id="r")
    assert [each["watch"] for each in first["value"] + rest["value"]] == [f"w{n}" for n in range(5)]
    assert "next" not in rest


def test_a_watch_over_sites_names_them():
    engine = LocalEngine(site="athens", secrets={"berlin": "secret" * 6})
    engine.run([create("u")])
    engine.run([watch("a", every="5s", sites="*", drift=5)])
    (found,) = listed(engine)
    assert (found["sites"], found["by"], found["drift"]) == (["athens", "berlin"], "athens", 5)


def test_client_and_command_line_list_what_runs(engine):
    engine.run([watch("a", every="5s"), watch("b", on="change", uid="v")])
    transport = LocalTransport(engine)
    sde = Client(transport)
    (found,) = sde.synopsis("u").watches()
    assert (found.watch, found.every, found.query, found.number) == ("a", "5s", TOTAL, 0)
    with pytest.raises(UnknownSynopsis):
        sde.watches("misspelt")
    result = CliRunner().invoke(main, ["watches"], obj=transport)
    assert result.exit_code == 0, result.output
    assert "u type=total" in result.stdout
    assert "--every 5s" in result.stdout
    assert "--on change" in result.stdout
