"""What programs write in their own way, and what nobody would write on purpose."""

import pytest

from sde.infore import translate
from sde.wire import Ask, Delete, ListAll, Refusal, Snapshots, creation
from tests.sde.infore.old_programs import DATASET, PLACE, PROGRAMS, none_runs, request, runs

COUNT_MIN = PROGRAMS[1].definition


def translated(message, running=none_runs):
    return translate(message, PLACE, running)


def refused(message, running=none_runs):
    with pytest.raises(Refusal) as caught:
        translate(message, PLACE, running)
    return caught.value.fault


@pytest.mark.parametrize("uid", [0, -1, 2**63 - 1, 2**64 - 1, -(2**63)])
@pytest.mark.parametrize("written", [int, str])
def test_a_uid_has_up_to_64_bits(uid, written):
    [deleted] = translate(request(2, uid=written(uid)), PLACE, lambda _: COUNT_MIN)
    assert deleted == Delete(id=PLACE, uid=str(uid))


@pytest.mark.parametrize("uid", [2**64, "18446744073709551616", "abc", "", 1.5, True, [], {}])
def test_any_other_uid_is_refused(uid):
    assert refused(request(2, uid=uid)).field == "uid"


@pytest.mark.parametrize("request_id", [1, 2, 3, 5, 7, 100, 200])
def test_a_missing_uid_is_named(request_id):
    message = request(request_id, param=PROGRAMS[1].add)
    del message["uid"]
    assert refused(message).field == "uid"


@pytest.mark.parametrize("request_id", [2, 3, 7])
def test_a_uid_that_does_not_run_is_unknown(request_id):
    assert refused(request(request_id, param=PROGRAMS[1].add)).code == "unknown_synopsis"


def test_the_data_set_may_be_called_key():
    message = request(1, param=PROGRAMS[1].add)
    expected = translated(message)
    message["key"] = message.pop("dataSetkey")
    assert translated(message) == expected
    assert translated({**message, "dataSetkey": "Forex", "key": "hash_7"}) == expected
    assert refused({**message, "key": None}).field == "dataSetkey"


@pytest.mark.parametrize("request_id", [1, 2, 3, 7])
def test_a_uid_of_another_data_set_is_not_touched(request_id):
    message = request(request_id, dataSetkey="Crypto", param=["EURUSD"])
    fault = refused(message, runs(COUNT_MIN))
    assert (fault.code, fault.field) == ("unknown_synopsis", "uid")


@pytest.mark.parametrize("named", ["__any__", None, ""])
def test_the_synopses_of_all_data_sets_are_listed(named):
    assert translated(request(1000, dataSetkey=named)) == [ListAll(id=PLACE, dataset=None)]


def test_all_snapshots_are_listed_without_a_uid():
    assert translated(request(301, uid=None)) == [Snapshots(id=PLACE, uid=None)]


@pytest.mark.parametrize("hint", [0, 1, 64, None, "4", "many", [], -1])
def test_the_parallelism_asked_for_changes_nothing(hint):
    message = request(1, param=PROGRAMS[1].add, noOfP=hint)
    expected = [creation(PLACE, "1110", COUNT_MIN)]
    assert translated(message) == expected
    del message["noOfP"]
    assert translated({**message, "unknown": {"field": 1}, "externalUID": "x"}) == expected


@pytest.mark.parametrize("junk", ["x", [], {}, True, 1.5])
def test_a_field_that_is_not_needed_is_not_looked_at(junk):
    listing = request(1000, uid=junk, synopsisID=junk, streamID=junk, param=junk)
    assert translated(listing) == [ListAll(id=PLACE, dataset=DATASET)]
    assert translated(request(101, uid=junk, synopsisID=junk, dataSetkey=junk)) == []
    asked = translated(request(3, junk, streamID=junk, param=["EURUSD"]), runs(COUNT_MIN))
    assert asked == [Ask(id=PLACE, uid="1110", query=PROGRAMS[1].query)]


@pytest.mark.parametrize("param", ["a;b", 5, {"0": "a"}, True])
def test_param_is_an_array(param):
    assert refused(request(1, param=param)).field == "param"
    assert refused(request(3, param=param), runs(COUNT_MIN)).field == "param"
