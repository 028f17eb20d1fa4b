"""The Spark adapter of ingest, without Spark and Kafka: messages that are passed over."""

import json

import msgspec
import orjson
import pytest
from wire_messages import create, tuples

from sde.decoding import Messages
from sde.records.arrived import FromSource, unpack_arrived
from sde.records.asked import Asked, Unreadable
from sde.records.figures import Taken, unpack_figures
from sde.records.sources import ReadSource
from sde.stages.wiring import Wiring
from sde.testing import messages
from sde.tuples.block import Block
from sde.wire import Code
from sde.wire.framing import unpack
from sde.wire.sources import Source
from service.kafka import fetch
from service.kafka.source import ReaderOptions
from service.stages.ingest import RequestReader, TupleReader
from service.stages.rows import BLOCKS, FIGURES, LETTERS, REQUESTS, ShardRow, spread_keys

FIRST = 40  # offset of the first message


def reader(kind, topic, *offsets, shards=1):
    options = {
        "reader": ReaderOptions({}, [topic]).to_json(),
        "wiring": Wiring(shards).to_json(),
        "shards": str(shards),
        "union": "union",
        "registry": "",
        "peers": "peers",
        "arena": "/nowhere",
        "exchange": "",
        "passed_over": json.dumps([(topic, 0, offset) for offset in offsets]),
    }
    return kind.with_options(options)


def rows(made, fetched, source=""):
    batches = made.blocks(fetched, source)
    return [ShardRow(*row.values()) for batch in batches for row in batch.to_pylist()]


def counted(blocks):
    return sum(len(block) for block in blocks)


@pytest.mark.parametrize("offsets", [(), (40,), (42,), (44,), (41, 42), (40, 41, 42, 43, 44), (7,)])
def test_tuples_that_are_passed_over_become_letters_and_all_others_blocks(offsets):
    sent = tuples("d", [(f"s{i}", {"k": i}) for i in range(5)])
    made = rows(reader(TupleReader, "data", *offsets), messages(sent, "data", offset=FIRST))
    blocks = [Block.from_bytes(b) for r in made if r.what == BLOCKS for b in unpack(r.body)]
    found = sorted(int(o) + block.base for block in blocks for o in block.offsets)
    left_out = [offset for offset in offsets if offset >= FIRST]
    assert found == [o for o in range(FIRST, FIRST + 5) if o not in left_out]
    letters = [letter for r in made if r.what == LETTERS for letter in orjson.loads(r.body)]
    assert [letter["offset"] for letter in letters] == left_out
    assert {letter["code"] for letter in letters} <= {Code.PASSED_OVER}


def test_dead_letters_of_a_source_are_counted_in_the_first_shard():
    read = ReadSource(Source(name="s", topic="t", format="tuples"), 1, 0, 4)
    sent = [*tuples("d", [("a", {"k": 1}), ("b", {"k": 2})]), b"no tuple", b"nor this"]
    fetched = messages(sent, "s/t", offset=FIRST)
    source = msgspec.json.encode(read).decode()
    made = rows(reader(TupleReader, "s/t", FIRST, shards=3), fetched, source)
    counted_in = [r for r in made if r.what == REQUESTS]
    assert {r.shard_key for r in counted_in} == {spread_keys(3)[0]}
    arrived = [one for r in counted_in for one in unpack_arrived(r.body)]
    refused = [FromSource(source="s", changed=4, refused=count) for count in (2, 1)]
    assert arrived == refused  # what cannot be read, and what is passed over
    assert sum(len(orjson.loads(r.body)) for r in made if r.what == LETTERS) == 3


def test_messages_that_are_read_again_leave_out_the_same(monkeypatch):
    sent = tuples("d", [(f"s{i}", {"k": i}) for i in range(5)])
    fetched = messages(sent, "data", offset=FIRST)
    made = reader(TupleReader, "data", 42)
    row = next(r for r in rows(made, fetched) if r.what == BLOCKS)
    whole = row._replace(offset=FIRST, end=FIRST + 5)
    monkeypatch.setattr(fetch, "fetch", lambda *_, **__: [fetched])
    assert counted(made.read_again(whole)) == 4


def test_a_request_that_is_passed_over_gets_a_letter_and_a_fault_under_its_id():
    sent = [{**create("a"), "id": "first"}, {**create("b"), "id": "deadly"}, {**create("c")}]
    fetched = messages(sent, "requests", offset=FIRST)
    made = rows(reader(RequestReader, "requests", 41, shards=3), fetched)
    letters = [letter for r in made if r.what == LETTERS for letter in orjson.loads(r.body)]
    assert [(letter["offset"], letter["code"]) for letter in letters] == [(41, "passed_over")]
    shards = {r.shard_key for r in made if r.what == REQUESTS}
    assert len(shards) == 3
    for key in shards:
        requests = [r for r in made if r.what == REQUESTS and r.shard_key == key]
        ordered = sorted(requests, key=lambda r: r.offset)
        asked = [one for r in ordered for one in unpack_arrived(r.body)]
        assert [type(one) for one in asked] == [Asked, Unreadable, Asked]
        assert (asked[1].id, asked[1].fault.code) == ("deadly", Code.PASSED_OVER)


@pytest.mark.parametrize("payload", [b"\xff\x00", b"[1]", b'{"id": 3}', b"[" * 100_000, b""])
def test_a_request_without_an_id_that_can_be_told_is_answered_under_its_place(payload):
    fetched = messages([payload], "requests", offset=FIRST)
    made = rows(reader(RequestReader, "requests", FIRST), fetched)
    (asked,) = [one for r in made if r.what == REQUESTS for one in unpack_arrived(r.body)]
    assert isinstance(asked, Unreadable)
    assert (asked.id, str(asked.position)) == ("", "requests-0-40")


def test_what_the_engine_told_itself_gets_a_letter_only():
    fetched = messages([b"{}"], "union", offset=FIRST)
    assert [r.what for r in rows(reader(RequestReader, "union", FIRST), fetched)] == [LETTERS]


def test_a_part_of_messages_is_as_if_they_had_been_fetched_alone():
    sent = [b'{"a": 1}', b"", b"two\nlines", b"last"]
    part = messages(sent, "t", offset=FIRST).part(1, 3)
    alone = messages(sent[1:3], "t", offset=FIRST + 1)
    assert isinstance(part, Messages)
    assert part.buffer.tobytes() == alone.buffer.tobytes()
    for name in ("starts", "ends", "offsets", "timestamps"):
        assert getattr(part, name).tolist() == getattr(alone, name).tolist()


def readings(made):
    return [unpack_figures(row.body) for row in made if row.what == FIGURES]


@pytest.mark.parametrize("shards", [1, 3])
def test_a_reading_is_told_once_beside_rows_that_go_to_a_shard_anyway(shards):
    sent = tuples("d", [(f"s{i}", {"k": i}) for i in range(9)])
    fetched = messages([*sent, b"{"], "data", offset=FIRST)
    made = rows(reader(TupleReader, "data", shards=shards), fetched)
    (told,) = readings(made)
    size = int((fetched.ends - fetched.starts).sum())
    assert told.taken == [Taken(form="json", messages=10, tuples=9, size=size)]
    assert (told.topic, told.partition, told.newest) == ("data", 0, int(fetched.timestamps[-1]))
    (own,) = [row.shard_key for row in made if row.what == FIGURES]
    assert own in {row.shard_key for row in made if row.what == BLOCKS}


def test_a_reading_of_dead_letters_alone_is_told_too():
    made = rows(reader(TupleReader, "data"), messages([b"{", b"["], "data", offset=FIRST))
    (told,) = readings(made)
    assert [(one.form, one.messages, one.tuples) for one in told.taken] == [("json", 2, 0)]
