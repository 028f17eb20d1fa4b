"""`sde-py-lib`, a client written for STELAR's engine, as it comes from PyPI, on ours."""

import time
from types import SimpleNamespace

import pytest
from integration.shared_engine.conftest import LOGGING
from sde_py_lib.client import Client
from sde_py_lib.model import OperationMode, PartitioningMode, Synopsis, SynopsisSpec

pytestmark = pytest.mark.integration

STOCKS = ["EURUSD"] * 60 + ["GBPUSD"] * 30 + ["USDJPY"] * 10
COUNT_MIN = {
    "KeyField": "StockID",
    "ValueField": "null",
    "epsilon": "0.01",
    "confidence": "0.99",
    "seed": "4",
}
BLOOM = {
    "KeyField": "StockID",
    "ValueField": "null",
    "numberOfElements": 1000,
    "FalsePositive": 0.001,
}
AMS = {"KeyField": "StockID", "ValueField": "null", "Depth": "5", "Buckets": "1000"}


@pytest.fixture(scope="module")
def client(engine):
    """Its time-out is its own: 10 seconds."""
    client = Client(
        engine.process.bootstrap_servers,
        request_topic="sde-requests",
        data_topic="sde-data",
        estimation_topic="sde-output",
        logging_topic=LOGGING,
    )
    # It reads from the end of its topics, and does not say when it has found that.
    assert any(client.get_synopses() for _ in range(6))
    yield client
    client.close()


def send(client, dataset, stocks=STOCKS):
    for number, stock in enumerate(stocks):
        values = {"time": "02/19/2019 06:07:14", "StockID": stock, "price": str(number)}
        client.send_datapoint({"dataSetkey": dataset, "streamID": stock, "values": values})


def answered(synopsis, param, tuples, seconds=60):
    """Ask until the synopsis has seen all the tuples."""
    deadline = time.monotonic() + seconds
    while True:
        told = synopsis.estimate(param)
        if told["tuples"] >= tuples:
            return told
        assert time.monotonic() < deadline, told


def added(client, spec, param, dataset, uid, **modes):
    synopsis = Synopsis(spec, client)
    told = synopsis.add("INTEL", dataset, param, 2, uid, **modes)
    assert told["messageType"] == "RESPONSE", told
    return synopsis


def test_every_synopsis_it_knows_is_added_fed_and_asked(client):
    made = SimpleNamespace(
        counts=added(client, SynopsisSpec.CountMin, COUNT_MIN, "every", 1110),
        seen=added(client, SynopsisSpec.BloomFilter, BLOOM, "every", 1111),
        norms=added(client, SynopsisSpec.AMSSynopsis, AMS, "every", 1112),
    )
    send(client, "every")
    count = answered(made.counts, ["EURUSD"], len(STOCKS))
    assert count["estimation"] == 60
    assert (count["uid"], count["key"], count["noOfP"]) == (1110, "1110", 2)
    assert (count["streamID"], count["param"], count["synopsisID"]) == ("INTEL", ["EURUSD"], 1)
    assert answered(made.seen, ["GBPUSD"], len(STOCKS))["estimation"] is True
    assert made.seen.estimate(["BTCUSD"])["estimation"] is False
    norm = answered(made.norms, ["USDJPY"], len(STOCKS))
    assert norm["lower"] <= 10 <= norm["upper"]


def test_an_add_is_acknowledged_in_the_log(client):
    told = Synopsis(SynopsisSpec.CountMin, client).add("INTEL", "acks", COUNT_MIN, 4, 1120)
    assert told["content"] == "Maintaining synopsis of type CountMin with UID: 1120"
    assert (told["key"], told["parallelism"], told["requestTypeID"]) == ("acks", 4, 1)
    time.strptime(told["timestamp"], "%d-%m-%Y %H:%M:%S")


@pytest.mark.parametrize(
    ("uid", "modes"),
    [
        (1130, {"partition_mode": PartitioningMode.PARTITIONING}),
        (1131, {"operation_mode": OperationMode.CONTINUOUS}),
    ],
)
def test_its_modes_make_no_difference_to_an_answer(client, uid, modes):
    dataset = f"mode {uid}"
    synopsis = added(client, SynopsisSpec.CountMin, COUNT_MIN, dataset, uid, **modes)
    send(client, dataset, STOCKS[::10])
    assert answered(synopsis, ["EURUSD"], 10)["estimation"] == 6


@pytest.mark.parametrize("parallelism", [0, 1, 16])
def test_any_parallelism_gets_the_right_answer(client, parallelism):
    dataset = f"parallelism {parallelism}"
    synopsis = Synopsis(SynopsisSpec.CountMin, client)
    synopsis.add("price", dataset, COUNT_MIN, parallelism, 1140 + parallelism)
    send(client, dataset, STOCKS[::10])
    told = answered(synopsis, ["GBPUSD"], 10)
    assert (told["estimation"], told["noOfP"]) == (3, parallelism)


def test_after_a_delete_there_is_nothing_to_ask(client):
    synopsis = added(client, SynopsisSpec.BloomFilter, BLOOM, "deleted", 1160)
    told = synopsis.delete()
    assert told["content"] == "Deleted synopsis of type Bloomfilter with UID: 1160"
    assert "1160" in synopsis.estimate(["EURUSD"])["error"]
    assert synopsis.delete()["messageType"] == "ERROR"
    added(client, SynopsisSpec.CountMin, COUNT_MIN, "deleted", 1160)


def test_synopses_are_listed_by_data_set(client):
    added(client, SynopsisSpec.CountMin, COUNT_MIN, "listed", 1170)
    added(client, SynopsisSpec.AMSSynopsis, AMS, "listed", 1171)
    expected = [
        {"id": 1170, "type": "CountMin", "parallelism": 2, "key": "listed"},
        {"id": 1171, "type": "AMSsynopsis", "parallelism": 2, "key": "listed"},
    ]
    assert client.get_synopses("listed")["content"] == {"listed": expected}
    assert client.get_synopses()["content"]["listed"] == expected


@pytest.mark.parametrize(
    ("spec", "param", "uid"),
    [(SynopsisSpec.CountMin, COUNT_MIN, 1180), (SynopsisSpec.AMSSynopsis, AMS, 1190)],
)
def test_a_snapshot_is_loaded_again_and_as_a_new_synopsis(client, spec, param, uid):
    dataset = f"snapshots {uid}"
    synopsis = added(client, spec, param, dataset, uid)
    send(client, dataset, ["EURUSD"] * 5)
    answered(synopsis, ["EURUSD"], 5)
    assert synopsis.snapshot()["content"].endswith("v0")
    send(client, dataset, ["EURUSD"] * 4)
    assert answered(synopsis, ["EURUSD"], 9)["estimation"] == 9
    assert synopsis.snapshot()["content"].endswith("v1")
    versions = [f"syn_{uid}_{dataset}_v{version}" for version in (1, 0)]
    assert synopsis.list_snapshots()["content"] == f"[{', '.join(versions)}]"

    assert synopsis.load_custom_snapshot(0)["messageType"] == "RESPONSE"
    assert synopsis.estimate(["EURUSD"])["estimation"] == 5
    assert synopsis.load_latest_snapshot()["messageType"] == "RESPONSE"
    assert synopsis.estimate(["EURUSD"])["estimation"] == 9
    assert synopsis.load_custom_snapshot(7)["messageType"] == "ERROR"

    told = synopsis.new_synopsis_from_snapshot(0, uid + 1)
    assert told["messageType"] == "RESPONSE"
    copied = Synopsis(spec, client).new("INTEL", dataset, 2, uid + 1)
    assert copied.estimate(["EURUSD"])["estimation"] == 5


def test_kinds_it_has_no_class_for_answer_to_plain_requests(client):
    def ask(request_id, synopsis_id, uid, param):
        return client.send_request(
            {
                "dataSetkey": "plain",
                "requestID": request_id,
                "synopsisID": synopsis_id,
                "uid": uid,
                "streamID": "INTEL",
                "param": param,
                "noOfP": 2,
            },
            "plain",
        )

    adds = {
        7: (["StockID", "price", "Queryable", "0.02"], []),
        9: (["StockID", "null", "Queryable", "0.01"], ["EURUSD"]),
        11: (["StockID", "price", "Queryable", "0.01", "0.01"], ["0.5"]),
        13: (["StockID", "null", "time", "5", "100"], ["2", "60"]),
    }
    for synopsis_id, (param, _) in adds.items():
        assert ask(1, synopsis_id, synopsis_id, param)["messageType"] == "RESPONSE"
    send(client, "plain")
    told = {}
    for synopsis_id, (_, param) in adds.items():
        one = SimpleNamespace(estimate=lambda p, s=synopsis_id: ask(3, s, s, p))
        told[synopsis_id] = answered(one, param, len(STOCKS))
    assert told[7]["lower"] <= 100 <= told[7]["upper"]
    assert told[9]["estimation"] == 60
    assert told[11]["estimation"] == 49  # of the prices 0 to 99
    assert [item["key"] for item in told[13]["estimation"]] == ["EURUSD", "GBPUSD"]
    as_an_add = ask(1, 9, 9, ["GBPUSD"])
    assert (as_an_add["estimation"], as_an_add["requestID"]) == (30, 1)


def test_a_fault_names_the_entry_and_stops_nothing(client):
    synopsis = Synopsis(SynopsisSpec.CountMin, client)
    told = synopsis.add("INTEL", "faults", {**COUNT_MIN, "epsilon": "tiny"}, 2, 1200)
    assert told["messageType"] == "ERROR"
    assert "param[3]='tiny'" in told["content"]
    added(client, SynopsisSpec.CountMin, COUNT_MIN, "faults", 1200)


def test_storage_credentials_are_acknowledged(client, capsys):
    client.send_storage_auth_request("access", "secret", "token", "http://localhost:9000")
    assert "No response" not in capsys.readouterr().out


def test_many_requests_one_after_the_other_are_all_answered(client, capsys):
    """It holds 20 messages that it was not waiting for, and then waits a second for each."""
    synopsis = added(client, SynopsisSpec.BloomFilter, BLOOM, "many", 1210)
    told = [synopsis.estimate([f"key {i}"]) for i in range(30)]
    assert [one["param"] for one in told] == [[f"key {i}"] for i in range(30)]
    assert "queue is full" not in capsys.readouterr().out
