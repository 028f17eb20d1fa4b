"""The Spark adapter of maintain, without a JVM."""

import json

import pandas as pd
import pytest
from pyspark.sql.streaming import TwsTester
from wire_messages import create, tuples

from sde.decoding import Limits
from sde.records.arrived import pack_arrived
from sde.records.partial import unbundle
from sde.records.result import Done
from sde.records.seal import LoopSeal
from sde.stages.ingest import Ingest
from sde.stages.wiring import Wiring
from sde.testing import messages
from sde.wire.framing import pack
from service.stages.maintain import MaintainProcessor
from service.stages.rows import BLOCKS, LETTERS, PARTIALS, REQUESTS, spread_keys
from service.stages.shard_settings import ShardSettings

SHARDS = 1
INGEST = Ingest(SHARDS, Limits(), LoopSeal.new())
COLUMNS = ["shard_key", "what", "log", "source", "partition", "offset", "end", "body"]


@pytest.fixture
def tester(tmp_path):
    settings = ShardSettings(
        wiring=Wiring(SHARDS, snapshots=str(tmp_path / "snapshots")),
        arena=tmp_path,
        buckets=2,
        compact_factor=1.0,
        tuples={},
    )
    return TwsTester(MaintainProcessor(settings))


def requests_row(requests, offset=0):
    arrived = INGEST.on_requests(messages(requests, "requests", offset=offset))
    body = pack_arrived(arrived)
    return (
        spread_keys(SHARDS)[0],
        REQUESTS,
        "requests",
        "",
        0,
        offset,
        offset + len(requests),
        body,
    )


def block_rows(data):
    blocks = INGEST.on_data(messages(data)).blocks
    body = pack([block.to_bytes() for block in blocks])
    return [(spread_keys(SHARDS)[0], BLOCKS, "data", "", 0, 0, len(data), body)]


def run(tester, *rows):
    frame = pd.DataFrame(list(rows), columns=COLUMNS)
    out = tester.testInPandas(spread_keys(SHARDS)[0], frame)
    bundles = out[out["what"] == PARTIALS]["body"]
    return out, [partial for body in bundles for partial in unbundle(body)]


def test_state_and_answers_survive_between_batches(tester):
    run(tester, requests_row([create("u", scope="stream")]))
    run(tester, *block_rows(tuples("d", [("s", {"k": 7})] * 3)))
    ask = {"id": "q", "op": "estimate", "uid": "u", "stream": "s", "query": {"key": 7}}
    _, partials = run(tester, requests_row([ask], offset=1))
    assert [p.result.estimate.value for p in partials] == [3.0]


def test_requests_apply_in_the_order_of_their_topic_however_rows_come(tester):
    late = requests_row([{"id": "x", "op": "delete", "uid": "u"}], offset=5)
    early = requests_row([create("u")], offset=2)
    _, partials = run(tester, late, early)
    assert {p.asked.request.op: isinstance(p.result, Done) for p in partials} == {
        "create": True,
        "delete": True,
    }


def test_dead_letters_pass_through(tester):
    body = json.dumps([{"code": "bad_json"}]).encode()
    out, partials = run(tester, (spread_keys(SHARDS)[0], LETTERS, "data", "", 0, 0, 1, body))
    assert partials == []
    assert out[out["what"] == LETTERS]["body"].tolist() == [body]


def test_the_log_and_the_head_rest_in_the_state_store(tester):
    run(tester, requests_row([create("u")]))
    key = spread_keys(SHARDS)[0]
    head = json.loads(tester.peekValueState("head", key)[0])
    assert (head["next_entry"], head["of"]) == (1, SHARDS)
    assert (0,) in tester.peekMapState("log", key)
