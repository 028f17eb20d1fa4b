"""The Spark adapter of maintain, without a JVM."""

import json
import shutil

import pandas as pd
import pytest
from pyspark.sql.streaming import TwsTester
from wire_messages import create, tuples

from sde.decoding import Limits
from sde.records.arrived import pack_arrived
from sde.records.figures import (
    MOST_NAMES,
    OTHERS,
    Reading,
    ShardFigures,
    pack_figures,
    unpack_figures,
)
from sde.records.partial import unbundle
from sde.records.result import Done
from sde.records.seal import LoopSeal
from sde.shard.keeper import _open_shards
from sde.stages.ingest import Ingest
from sde.stages.wiring import Wiring
from sde.testing import messages
from sde.wire.framing import pack
from service.stages.maintain import MaintainProcessor
from service.stages.rows import BLOCKS, FIGURES, LETTERS, PARTIALS, REQUESTS, spread_keys
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


def figures(tester, *rows):
    """Those of the shard; what comes from ingest is passed on before them."""
    out, _ = run(tester, *rows)
    return [unpack_figures(body) for body in out[out["what"] == FIGURES]["body"]]


def test_figures_of_ingest_pass_through(tester):
    reading = Reading(topic="t", partition=0, newest=5)
    key = spread_keys(SHARDS)[0]
    told = figures(tester, (key, FIGURES, "data", "", 0, 0, 1, pack_figures(reading)))
    assert told[0] == reading
    assert isinstance(told[1], ShardFigures)


def test_figures_tell_what_the_shard_holds_and_what_this_batch_left_out(tester):
    window = {"type": "tumbling", "size": "1m", "time": "t"}
    made = [
        create("u", scope="stream"),
        create("v", kind="hyperloglog", scope="stream"),
        create("w", kind="hyperloglog", window=window),
    ]
    (first,) = figures(tester, requests_row(made))
    assert first.engine.synopses == {"count_min": 1, "hyperloglog": 2}
    assert (first.rebuilt, first.left_out) == (False, {})
    sent = tuples("d", [("s", {"k": 1, "t": 60_000}), ("r", {"t": 61_000}), ("r", {"k": 2})])
    (second,) = figures(tester, *block_rows(sent))
    # u and v lack a key, w a key and a time.
    assert second.left_out == {"skipped": 3, "untimed": 1}
    assert second.datasets["d"].streams == 2
    assert second.datasets["d"].size > 0
    assert second.datasets["d"].promised == first.datasets["d"].promised > 0
    assert second.log_bytes > first.log_bytes > 0
    (third,) = figures(tester, requests_row([{"id": "x", "op": "delete", "uid": "v"}], offset=9))
    assert third.engine.synopses == {"count_min": 1, "hyperloglog": 1}
    assert third.left_out == {}


def test_figures_tell_that_the_arena_was_built_again(tester, tmp_path):
    run(tester, requests_row([create("u")]))
    _open_shards.clear()
    for folder in tmp_path.glob("shard-*"):
        shutil.rmtree(folder)
    (told,) = figures(tester, *block_rows(tuples("d", [("s", {"k": 7})])))
    assert told.rebuilt
    (told,) = figures(tester, *block_rows(tuples("d", [("s", {"k": 7})])))
    assert not told.rebuilt


def test_data_sets_beyond_the_first_hundred_are_told_together(tester):
    made = [create(f"u{n}", dataset=f"d{n:03}") for n in range(103)]
    (told,) = figures(tester, requests_row(made))
    assert len(told.datasets) == MOST_NAMES + 1
    assert told.datasets[OTHERS].promised == 3 * told.datasets["d000"].promised
