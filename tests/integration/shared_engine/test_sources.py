"""Topics of others on a real engine: read as they are, by request, exactly once."""

import json
import time

import pytest
from confluent_kafka import Producer
from integration.waiting import wait_for_tuples

from clients import Refused
from clients.topic_reader import TopicReader
from service.engine.batch_log import BatchLog
from service.kafka.offsets import SOURCES
from service.kafka.topics import TopicSpec, ensure_topics

pytestmark = pytest.mark.integration

MAPPING = {
    "stream": "symbol",
    "time": "ts",
    "fields": {"trader": "trader.id", "notional": "px * qty"},
    "where": "venue == 'X' and qty > 0",
}


def trade(i):
    return {
        "symbol": f"S{i % 5}",
        "px": 10 + i / 8,
        "qty": i % 4,
        "ts": f"2026-11-17T10:{i % 60:02d}:00Z",
        "venue": "XY"[i % 6 == 0],
        "trader": {"id": f"t{i % 17}"},
    }


def counted(records):
    return [r for r in records if r["venue"] == "X" and r["qty"] > 0]


def make_topic(engine, name, partitions=3):
    specs = [TopicSpec(name, partitions)]
    ensure_topics({"bootstrap.servers": engine.broker.bootstrap_servers}, specs)


def fill(engine, topic, records):
    producer = Producer({"bootstrap.servers": engine.broker.bootstrap_servers})
    for i, record in enumerate(records):
        payload = record if isinstance(record, bytes) else json.dumps(record)
        producer.produce(topic, payload, partition=i % 3, headers={"number": str(i)})
    producer.flush()


def planned(engine):
    log = BatchLog(engine.process.folder / "checkpoint")
    return log.ends(log.done()).get(SOURCES, 0)


def wait_until_planned(engine, version):
    """Until a batch that was planned with that version of all sources is done."""
    deadline = time.monotonic() + 60
    while planned(engine) < version:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_topic_is_read_as_it_is_across_changes_of_its_mapping(engine):
    make_topic(engine, "others")
    first, second = [trade(i) for i in range(6_000)], [trade(i) for i in range(6_000, 9_000)]
    fill(engine, "others", first)
    with engine.client() as sde:
        sde.create("moments", dataset="Others", uid="others", value="notional")
        sde.create("hyperloglog", dataset="Others", uid="traders", key="trader", scope="stream")
        sde.add_source("others", topic="others", dataset="Others", start="earliest", **MAPPING)
        wait_for_tuples(sde, "others", len(counted(first)))
        sum_of_first = sum(r["px"] * r["qty"] for r in counted(first))
        assert sde.estimate("others", "sum").value == pytest.approx(sum_of_first, rel=1e-12)
        assert sde.estimate("traders", stream="S1").value == pytest.approx(17, abs=0.5)

        doubled = {**MAPPING, "fields": {**MAPPING["fields"], "notional": "2 * px * qty"}}
        before = planned(engine)
        sde.add_source("others", topic="others", dataset="Others", **doubled)
        wait_until_planned(engine, before + 1)
        fill(engine, "others", second)
        wait_for_tuples(sde, "others", len(counted(first + second)))
        sum_of_second = sum(2 * r["px"] * r["qty"] for r in counted(second))
        expected = sum_of_first + sum_of_second
        assert sde.estimate("others", "sum").value == pytest.approx(expected, rel=1e-12)

        sde.remove_source("others")
        wait_until_planned(engine, before + 2)
        fill(engine, "others", first)
        sde.create("moments", dataset="Others", uid="a batch later", value="notional")
        assert sde.describe("others").tuples == len(counted(first + second))
        assert len(sde.sources()) == 0
        sde.delete("others")
        sde.delete("traders")
        sde.delete("a batch later")


def test_a_source_begins_where_it_says_and_takes_topics_that_fit_its_pattern(engine):
    make_topic(engine, "site-a")
    fill(engine, "site-a", [trade(i) for i in range(300)])
    every = {"dataset": "Sites", "stream": "symbol", "fields": {"n": "$headers.number"}}
    with engine.client() as sde:
        sde.create("moments", dataset="Sites", uid="sites", value="n")
        sde.create("moments", dataset="Late", uid="late", value="n")
        offsets = {0: 40, 1: 90, 2: 100}
        sde.add_source("some", topic="site-a", start=offsets, **{**every, "dataset": "Late"})
        wait_for_tuples(sde, "late", 60 + 10)
        assert sde.add_source("all", topic="site-*", start="latest", **every) == ()
        (warning,) = sde.add_source("none", topic="sde-*", **every)
        assert warning.startswith("no topic fits 'sde-*' yet")  # the engine's own do not count
        assert [each.warnings for each in sde.sources()] == [[], [], [warning]]
        make_topic(engine, "site-b")
        fill(engine, "site-b", [trade(i) for i in range(30)])
        fill(engine, "site-a", [trade(i) for i in range(6)])
        wait_for_tuples(sde, "sites", 36)
        assert sde.estimate("sites", "sum").value == sum(range(30)) + sum(range(6))
        for name in ("some", "all", "none"):
            sde.remove_source(name)
        sde.delete("sites")
        sde.delete("late")


def test_a_preview_shows_tuples_and_what_would_be_dead_letters(engine):
    make_topic(engine, "seen")
    fill(engine, "seen", [trade(1), trade(2), b"no json", {**trade(3), "symbol": None}])
    with engine.client() as sde:
        seen = sde.preview_source(topic="seen", dataset="Seen", **MAPPING)
        assert seen.messages == 4
        assert [one["stream"] for one in seen.tuples] == ["S1", "S2"]
        assert seen.tuples[0]["values"] == {"trader": "t1", "notional": 10.125}
        assert sorted(letter["code"] for letter in seen.dead_letters) == ["bad_json", "bad_tuple"]
        with pytest.raises(Refused, match="topic that exists"):
            sde.preview_source(topic="no-such-topic", dataset="Seen", **MAPPING)
        with pytest.raises(Refused, match="does not use itself"):
            sde.add_source("own", topic="sde-requests", dataset="Seen", **MAPPING)


def test_records_that_do_not_fit_are_dead_letters_of_their_source(engine):
    make_topic(engine, "broken")
    fill(engine, "broken", [trade(1), b"{", b'"text"', {**trade(1), "ts": "soon"}])
    servers = {"bootstrap.servers": engine.broker.bootstrap_servers}
    letters = TopicReader(servers, "sde-dead-letters")
    with engine.client() as sde:
        sde.create("moments", dataset="Broken", uid="broken", value="notional")
        sde.add_source("broken", topic="broken", dataset="Broken", start="earliest", **MAPPING)
        wait_for_tuples(sde, "broken", 1)
        found = []
        while len(found) < 3:
            payload = letters.poll(60)
            assert payload is not None
            found += [json.loads(payload)]
        assert {(each["source"], each["topic"]) for each in found} == {("broken", "broken")}
        assert sorted(each["code"] for each in found) == ["bad_json", "bad_json", "bad_tuple"]
        assert [each.dead_letters for each in sde.sources()] == [3]
        engine.process.kill()
        engine.process.start()
        assert [each.dead_letters for each in sde.sources()] == [3]
        sde.remove_source("broken")
        sde.delete("broken")
    letters.close()
