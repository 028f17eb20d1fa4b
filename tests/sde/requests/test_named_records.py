"""Records of several value fields: kept together, and told under the names of the fields."""

import pytest
from wire_messages import create, tuples

from clients.answers import Answer
from sde.testing import LocalEngine

FIELDS = ["price", "volume"]
ROWS = [("s", {"k": name, "price": n, "volume": 10 * n}) for n, name in enumerate("abc")]


def started(**fields):
    engine = LocalEngine(shards=2)
    (reply,) = engine.replies([create("u", "sample", value=FIELDS, **fields)])
    engine.run(data=tuples("d", ROWS))
    return engine, reply


def params(engine):
    return engine.ask(op="describe", uid="u")["value"]["params"]


@pytest.mark.parametrize("fields", [{}, {"params": {"fields": 2}}])
def test_a_sample_has_as_many_fields_as_are_named(fields):
    engine, _ = started(**fields)
    assert params(engine)["fields"] == 2
    found = engine.ask(op="estimate", uid="u", query={"type": "sample"})["value"]
    by_key = {record["key"]: record["values"] for record in found}
    assert by_key == {name: {"price": n, "volume": 10 * n} for n, name in enumerate("abc")}


def test_the_records_of_all_streams_have_names_too():
    engine, _ = started(scope="stream")
    asked = {"op": "estimate", "uid": "u", "stream": "*", "query": {"type": "sample"}}
    (row,) = engine.ask(**asked)["value"]
    assert [{*record["values"]} for record in row["value"]] == [{*FIELDS}] * 3


def test_a_number_of_fields_that_does_not_fit_the_names_is_refused():
    _, reply = started(params={"fields": 3})
    assert reply["code"] == "bad_request"
    assert "needs 3 value fields" in reply["message"]


def test_the_dimensions_of_a_coreset_follow_from_its_fields_too():
    engine = LocalEngine(shards=1)
    engine.run([create("u", "coreset", value=["x", "y", "z"])])
    assert params(engine)["dimensions"] == 3


def test_in_a_table_each_field_has_a_column():
    engine, _ = started()
    reply = engine.ask(op="estimate", uid="u", query={"type": "sample"})
    records = Answer.of(reply).records
    assert records.columns == ["key", "time", "price", "volume"]
    assert {record.key: record.volume for record in records} == {"a": 0, "b": 10, "c": 20}


def test_a_field_with_the_name_of_a_part_of_the_record_does_not_hide_it():
    value = [{"key": "a", "values": {"time": 5.0, "v": 1.0}, "time": 0}]
    (record,) = Answer.of({"value": value}).records
    assert (record["values.time"], record.v, record.time.year) == (5.0, 1.0, 1970)


def test_a_window_by_count_is_told_in_tuples():
    engine = LocalEngine(shards=1)
    engine.run([create("u", "count_min", scope="stream", window={"size": 2})])
    engine.run(data=tuples("d", ROWS))
    asked = {"op": "estimate", "uid": "u", "query": {"type": "frequency", "key": "a"}}
    reply = engine.ask(**asked, stream="s")
    assert reply["window"]["unit"] == "tuples"
    window = Answer.of(reply).window
    assert (window.start_time, window.end_time) == (None, None)
    (row,) = engine.ask(**asked, stream="*")["value"]
    assert row["window"]["unit"] == "tuples"
