"""Every synopsisID by every requestID: the records that come of them."""

from dataclasses import replace

import pytest

from sde.infore import translate
from sde.wire import (
    Ask,
    Delete,
    ListAll,
    Refusal,
    Restore,
    Snapshot,
    Snapshots,
    Watch,
    decode_request,
    message_of,
)
from tests.sde.infore.old_programs import (
    DATASET,
    PLACE,
    PROGRAMS,
    UID,
    defined,
    none_runs,
    request,
    runs,
)

EVERY_ID = pytest.mark.parametrize("number", PROGRAMS)
COUNT_MIN = PROGRAMS[1].definition


def nothing_is_known(uid):
    raise AssertionError(f"asked for {uid}")


def translated(message, running=none_runs):
    return translate(message, PLACE, running)


def refused(message, running=none_runs):
    with pytest.raises(Refusal) as caught:
        translate(message, PLACE, running)
    return caught.value.fault


# -- adds -----------------------------------------------------------------------------------------


@EVERY_ID
@pytest.mark.parametrize("request_id", [1, "1", 4])
def test_an_add_becomes_the_create_that_a_native_program_would_send(number, request_id):
    program = PROGRAMS[number]
    [create] = translated(request(request_id, number, param=program.add))
    assert (create.op, create.id, create.uid) == ("create", PLACE, "1110")
    assert create.definition == program.definition
    assert create.definition.params.keys() == program.definition.params.keys()


@EVERY_ID
def test_a_continuous_add_is_a_create_and_a_watch_on_change(number):
    program = PROGRAMS[number]
    message = request(5, number, param=program.add)
    create, watch = translated(message)
    assert create == translated(request(1, number, param=program.add))[0]
    assert isinstance(watch, Watch)
    assert (watch.id, watch.on, watch.every) == (f"{PLACE}+watch", "change", None)
    assert watch.question == Ask(id=watch.id, uid="1110", query=program.continuous)
    assert bool(watch.each) == program.of_each


@EVERY_ID
def test_numbers_for_texts_and_blanks_around_entries_say_the_same(number):
    def loosened(entry):
        try:
            return float(entry) if "." in entry else int(entry)
        except ValueError:
            return f"  {entry}\t"

    program = PROGRAMS[number]
    strict = translated(request(1, number, param=program.add))
    loose = [loosened(entry) for entry in program.add]
    assert translated(request("1", str(number), uid=f" {UID}", param=loose)) == strict
    padded = [f" {entry} " for entry in program.add]
    assert translated(request(1.0, number, uid=float(UID), param=padded)) == strict


@EVERY_ID
def test_a_missing_entry_is_named(number):
    program = PROGRAMS[number]
    for place in program.needs:
        fault = refused(request(1, number, param=program.add[:place]))
        missing = [p for p in program.needs if p >= place]
        assert fault.field == f"param[{missing[0]}]"
        assert "expected" in fault.message


@EVERY_ID
def test_an_impossible_entry_is_named_with_its_value(number):
    program = PROGRAMS[number]
    for place, value in program.impossible.items():
        param = [*program.add[:place], value, *program.add[place + 1 :]]
        fault = refused(request(1, number, param=param))
        assert (fault.code, fault.field) == ("bad_parameter", f"param[{place}]")
        assert fault.message.startswith(f"param[{place}]={value!r}: expected ")


@pytest.mark.parametrize("value", ["null", "nullable", " null", None])
def test_a_value_field_that_starts_with_null_counts_one(value):
    param = ["StockID", value, "Queryable", "0.01", "0.95", "4"]
    [create] = translated(request(1, 1, param=param))
    assert create.definition.values == ()


def test_a_negative_seed_is_one_too():
    [create] = translated(request(1, 1, param=[*PROGRAMS[1].add[:5], "-1"]))
    assert create.definition.params["seed"] == 2**32 - 1


def test_an_ams_of_absurdly_many_rows_is_as_sure_as_can_be():
    [create] = translated(request(1, 3, param=["k", "v", "Queryable", "1000000000", "10"]))
    assert create.definition.params["delta"] == 1e-9


@pytest.mark.parametrize("number", [25, 30, 31, 0, 17, 26, 100, None, -1])
@pytest.mark.parametrize("request_id", [1, 4, 5])
def test_what_is_no_synopsis_here_is_a_clear_fault(number, request_id):
    fault = refused(request(request_id, number, param=PROGRAMS[1].add))
    assert (fault.code, fault.field) == ("unknown_kind", "synopsisID")
    assert fault.message.startswith(f"synopsisID={number}: ")


# -- adds for a uid that runs ----------------------------------------------------------------------


@EVERY_ID
@pytest.mark.parametrize("request_id", [1, 4, 5])
def test_the_same_add_again_is_the_same_create_and_no_second_watch(number, request_id):
    message = request(request_id, number, param=PROGRAMS[number].add)
    create = translated(message)[0]
    assert translated(message, runs(create.definition)) == [create]


@EVERY_ID
def test_an_add_with_the_parameters_of_an_estimate_is_one(number):
    program = PROGRAMS[number]
    asked = translated(request(1, number, param=program.ask), runs(program.definition))
    assert asked == [Ask(id=PLACE, uid="1110", query=program.query, stream=program.stream)]


@EVERY_ID
def test_an_add_with_another_definition_is_refused(number):
    program = PROGRAMS[number]
    other = defined("moments", {}, key="", values=("price",))
    fault = refused(request(1, number, param=program.add), runs(other))
    assert (fault.code, fault.field) == ("synopsis_exists", "uid")
    assert "1110" in fault.message


def test_an_add_that_is_neither_says_what_is_wrong_with_it():
    add = ["StockID", "price", "Queryable", "much"]
    fault = refused(request(1, 1, param=add), runs(COUNT_MIN))
    assert fault.code == "synopsis_exists"
    assert "param[3]='much'" in fault.message


# -- estimates ------------------------------------------------------------------------------------


@EVERY_ID
def test_an_estimate_becomes_the_question_of_the_kind_that_runs(number):
    program = PROGRAMS[number]
    expected = [Ask(id=PLACE, uid="1110", query=program.query, stream=program.stream)]
    assert translated(request(3, number, param=program.ask), runs(program.definition)) == expected
    unsure = request("3", None, param=program.ask, streamID=None)
    assert translated(unsure, runs(program.definition)) == expected


@pytest.mark.parametrize(
    ("number", "param"),
    [
        (1, []),
        (1, None),
        (1, [" "]),
        (2, [{"a": 1}]),
        (3, [[]]),
        (4, []),
        (4, ["1.1"]),
        (5, [""]),
        (6, ["51"]),
        (8, []),
        (9, [None]),
        (11, ["-0.1"]),
        (11, ["nan"]),
        (12, []),
        (13, ["6"]),
        (16, []),
    ],
)
def test_an_estimate_that_cannot_be_asked_names_its_entry(number, param):
    fault = refused(request(3, number, param=param), runs(PROGRAMS[number].definition))
    assert (fault.code, fault.field) == ("bad_query", "param[0]")


@pytest.mark.parametrize(("key", "text"), [(12, "12"), (12.0, "12"), (True, "true"), (" a ", "a")])
def test_a_key_may_be_a_number(key, text):
    [asked] = translated(request(3, param=[key]), runs(COUNT_MIN))
    assert asked.query == {"type": "frequency", "key": text}


def test_lsh_tells_the_streams_like_one_that_is_named():
    [asked] = translated(request(3, 5, param=["EURUSD"]), runs(PROGRAMS[5].definition))
    assert asked.query == {"type": "similar", "stream": "EURUSD"}


def test_a_coreset_without_k_tells_its_points():
    [asked] = translated(request(3, 6), runs(PROGRAMS[6].definition))
    assert asked.query == {"type": "points"}


def test_quantiles_take_the_smallest_and_the_largest():
    for q in (0, "0", "1.0"):
        [asked] = translated(request(3, 11, param=[q]), runs(PROGRAMS[11].definition))
        assert asked.query == {"type": "quantile", "q": float(q)}


# -- the other operations -------------------------------------------------------------------------

OPERATIONS = [
    (2, [], [Delete(id=PLACE, uid="1110")]),
    (100, [], [Snapshot(id=PLACE, uid="1110")]),
    (101, ["sts", "access", "secret", "token", "endpoint"], []),
    (200, [], [Restore(id=PLACE, uid="1110")]),
    (201, [0], [Restore(id=PLACE, uid="1110", version="1")]),  # the first version is 0 there
    (201, [" 3"], [Restore(id=PLACE, uid="1110", version="4")]),
    (202, [0, 95000], [Restore(id=PLACE, uid="1110", version="1", as_uid="95000")]),
    (202, ["0", "95000 "], [Restore(id=PLACE, uid="1110", version="1", as_uid="95000")]),
    (301, [], [Snapshots(id=PLACE, uid="1110")]),
    (1000, [], [ListAll(id=PLACE, dataset=DATASET)]),
]


@EVERY_ID
@pytest.mark.parametrize(("request_id", "param", "expected"), OPERATIONS)
def test_operations_mean_the_same_for_every_synopsis(number, request_id, param, expected):
    running = runs(PROGRAMS[number].definition)
    assert translated(request(request_id, number, param=param), running) == expected
    assert translated(request(str(request_id), str(number), param=param), running) == expected


@EVERY_ID
def test_an_update_starts_anew_only_if_something_is_other(number):
    program = PROGRAMS[number]
    message = request(7, number, param=program.add)
    [create] = translated(request(1, number, param=program.add))
    assert translated(message, runs(create.definition)) == [create]
    other = defined("moments", {}, key="", values=("price",))
    assert translated(message, runs(other)) == [Delete(id=f"{PLACE}+delete", uid="1110"), create]
    assert refused(message).code == "unknown_synopsis"


JOINS = [(1, "inner_product"), (3, "join_size"), (2, "union"), (7, "union")]


@pytest.mark.parametrize(("number", "question"), JOINS)
def test_a_join_asks_about_the_synopses_of_several_data_sets(number, question):
    one = PROGRAMS[number].definition
    running = {"1": one, "2": replace(one, dataset="Crypto")}.get
    message = request(6, number, dataSetkey="Forex, Crypto", param=["2", " 1", 2])
    expected = Ask(id=PLACE, several=["1", "2"], query={"type": question})
    assert translated(message, running) == [expected]


def test_a_union_is_of_as_many_as_are_named():
    one = PROGRAMS[7].definition
    message = request(6, 7, param=[3, 1, 2, 3])
    expected = [Ask(id=PLACE, several=["1", "2", "3"], query={"type": "union"})]
    assert translated(message, lambda uid: one) == expected


@pytest.mark.parametrize(
    ("param", "field", "code"),
    [
        ([], "param[0]", "bad_query"),
        (["1", "1110"], "param[0]", "bad_query"),
        (["3", "1110", "1110", "1110"], "param[0]", "bad_query"),
        (["2", "1110"], "param[2]", "bad_query"),
        (["2", "x", "1110"], "param[1]", "bad_query"),
        (["2", "1110", "7"], "param[2]", "unknown_synopsis"),
    ],
)
def test_a_join_that_cannot_be_asked_names_its_entry(param, field, code):
    fault = refused(request(6, param=param), runs(COUNT_MIN))
    assert (fault.field, fault.code) == (field, code)


def test_what_cannot_be_joined_is_refused():
    fault = refused(request(6, 11, param=[2, UID, UID]), runs(PROGRAMS[11].definition))
    assert (fault.field, fault.code) == ("param[1]", "bad_query")


@pytest.mark.parametrize(
    ("request_id", "param", "field"),
    [
        (201, [], "param[0]"),
        (201, ["../x"], "param[0]"),
        (201, ["-1"], "param[0]"),
        (202, [0], "param[1]"),
        (202, [0, "new"], "param[1]"),
        (202, [None, 5], "param[0]"),
    ],
)
def test_a_version_or_uid_that_is_none_is_named(request_id, param, field):
    assert refused(request(request_id, param=param), runs(COUNT_MIN)).field == field


@pytest.mark.parametrize("request_id", [0, 8, 13, 999, "x", None, 1.5, True, [], -3])
def test_an_unknown_request_id_is_refused(request_id):
    fault = refused(request(request_id))
    assert (fault.code, fault.field) == ("unknown_op", "requestID")


# -- as native messages ----------------------------------------------------------------------------


@EVERY_ID
def test_the_native_messages_decode_to_the_same_records(number):
    program = PROGRAMS[number]
    known = runs(program.definition)
    adds = [(request(i, number, param=program.add), none_runs) for i in (1, 4, 5)]
    asks = [(request(i, number, param=program.ask), known) for i in (1, 3)]
    others = [(request(i, number, param=param), known) for i, param, _ in OPERATIONS]
    joins = [(request(6, 7, param=[2, 1, 2]), lambda uid: PROGRAMS[7].definition)]
    for message, running in [*adds, *asks, *others, *joins]:
        found = translate(message, PLACE, running)
        native = [message_of(record) for record in found]
        assert [decode_request(one, "elsewhere") for one in native] == found


@pytest.mark.parametrize("request_id", [100, 101, 200, 201, 202, 301, 1000])
def test_snapshots_and_lists_mean_the_same_whatever_runs(request_id):
    """So that ingest, which does not know what runs, can look up snapshots."""
    message = request(request_id, param=["0", "95000"])
    assert translate(message, PLACE, nothing_is_known) == translated(message, runs(COUNT_MIN))
