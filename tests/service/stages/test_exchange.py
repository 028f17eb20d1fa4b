"""Blocks that wait in files, and blocks whose files are gone."""

import json

import naive_decoding as naive
import pytest
from confluent_kafka import Producer

from sde.decoding import Limits, decode_tuples
from sde.stages.wiring import Wiring
from sde.tuples.needs import Needs, NeedsByDataset
from service.kafka.fetch import close_idle, fetch
from service.kafka.source import KafkaRange, ReaderOptions
from service.kafka.topics import TopicSpec, ensure_topics
from service.stages.exchange import Exchange
from service.stages.ingest import TupleReader
from service.stages.needs_file import NeedsFile
from service.stages.rows import FIGURES, FILED, ShardRow
from service.stages.shard_batch import _blocks
from service.stages.shard_settings import ShardSettings

SHARDS = 3


def payloads(count=50):
    return [
        json.dumps(
            {"dataset": "d", "stream": f"s{i % 9}", "values": {"k": f"key {i}", "v": i}}
        ).encode()
        for i in range(count)
    ]


def test_a_block_is_taken_once_as_it_was_put(tmp_path):
    exchange = Exchange(tmp_path / "exchange")
    (block,) = decode_tuples(naive.messages(payloads()), 1, Limits()).blocks
    name = exchange.put(7, block)
    assert exchange.take(name).to_bytes() == block.to_bytes()
    assert exchange.take(name) is None


def test_what_earlier_batches_left_is_swept(tmp_path):
    exchange = Exchange(tmp_path / "exchange")
    exchange.sweep(1)  # no folder yet
    (block,) = decode_tuples(naive.messages(payloads()), 1, Limits()).blocks
    old, new = exchange.put(9, block), exchange.put(10, block)
    exchange.sweep(10)
    assert exchange.take(old) is None
    assert exchange.take(new) is not None


def test_a_hint_that_is_missing_or_damaged_is_no_hint(tmp_path):
    file = NeedsFile(tmp_path / "arena")
    assert file.read() is None
    wanted = NeedsByDataset({"d": Needs(frozenset({"k"}))})
    file.write(wanted)
    assert file.read().of("d") == wanted.of("d")
    before = (tmp_path / "arena" / "needs.json").stat().st_ino
    file.write(wanted)
    assert (tmp_path / "arena" / "needs.json").stat().st_ino == before
    (tmp_path / "arena" / "needs.json").write_bytes(b"{")
    assert file.read() is None


@pytest.mark.integration
@pytest.mark.parametrize("way", ["files", "rows"])
def test_blocks_are_read_again_from_kafka_when_files_or_fields_are_missing(broker, tmp_path, way):
    topic = f"again-{way}"
    kafka = {"bootstrap.servers": broker.bootstrap_servers}
    ensure_topics(kafka, [TopicSpec(topic, 1, {})])
    producer = Producer(kafka)
    for payload in payloads():
        producer.produce(topic, payload, partition=0)
    assert producer.flush(30) == 0
    given = {
        "reader": ReaderOptions(kafka, [topic]).to_json(),
        "wiring": Wiring(SHARDS).to_json(),
        "shards": str(SHARDS),
        "union": "union",
        "registry": "",
        "peers": "peers",
        "arena": str(tmp_path),
        "exchange": str(tmp_path / "exchange") if way == "files" else "",
        "passed_over": "[]",
    }
    settings = ShardSettings(Wiring(SHARDS), tmp_path, 1, 1.0, tuples=given)
    NeedsFile(tmp_path).write(NeedsByDataset({"d": Needs(frozenset({"k"}))}))
    batches = TupleReader.with_options(given).read(KafkaRange(topic, 0, 0, 50, None))
    rows = [ShardRow(**row) for batch in batches for row in batch.to_pylist()]
    assert [row.what for row in rows].count(FIGURES) == 1
    rows = [row for row in rows if row.what != FIGURES]
    assert sum(len(row.body) for row in rows) < 3000 if way == "files" else True
    fetched = fetch(kafka, topic, 0, 0, 50)
    decoded = [decode_tuples(messages, SHARDS, Limits()) for messages in fetched]
    everything = {block.shard: block for each in decoded for block in each.blocks}
    for row in rows:
        (block,) = _blocks(row, settings)
        assert block.fields.keys() == {"k"}
        assert list(block.texts("k")) == list(everything[block.shard].texts("k"))
        (whole,) = block.read_again()
        assert whole.to_bytes() == everything[block.shard].to_bytes()
        if row.what == FILED:
            (whole,) = _blocks(row, settings)  # its file is gone
            assert whole.to_bytes() == everything[block.shard].to_bytes()
    assert sum(map(len, everything.values())) == 50
    close_idle()
