"""The Spark adapter of merge, without Spark: figures for operators."""

import orjson
import pyarrow as pa
from wire_messages import create

from sde.records.figures import Written, unpack_figures
from sde.stages.wiring import Wiring
from service.kafka.sink import FOR_THE_DRIVER
from service.settings import Topics
from service.stages.merge import merge_task
from service.stages.rows import LETTERS, spread_keys
from tests.service.stages.test_maintain import SHARDS, requests_row, run
from tests.service.stages.test_maintain import tester as tester

TOPICS = Topics()


def merged(frame):
    """Rows for Kafka, and figures."""
    batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    rows = [row for out in merge_task(Wiring(SHARDS), TOPICS)([batch]) for row in out.to_pylist()]
    figures = [unpack_figures(row["value"]) for row in rows if row["topic"] == FOR_THE_DRIVER]
    return [row for row in rows if row["topic"] != FOR_THE_DRIVER], figures


def test_letters_and_replies_are_counted_beside_being_written(tester):
    letters = [{"code": "bad_json"}, {"code": "bad_tuple"}, {"code": "bad_json"}]
    requests = [create("u"), create("u", id="again", kind="hyperloglog"), b"{"]
    frame, _ = run(
        tester,
        requests_row(requests),
        (spread_keys(SHARDS)[0], LETTERS, "data", "", 0, 0, 1, orjson.dumps(letters)),
    )
    rows, figures = merged(frame)
    assert sorted(row["topic"] for row in rows) == [TOPICS.dead_letters] * 3 + [TOPICS.output] * 3
    (written,) = [one for one in figures if isinstance(one, Written)]
    assert written.letters == {"bad_json": 2, "bad_tuple": 1}
    assert sorted(written.replies) == [
        ("create", "ok", 1),
        ("create", "synopsis_exists", 1),
        ("none", "bad_json", 1),
    ]


def test_a_batch_without_replies_has_only_the_figures_of_its_shards(tester):
    frame, _ = run(tester)
    rows, figures = merged(frame)
    assert rows == []
    assert [type(one).__name__ for one in figures] == ["ShardFigures"]
