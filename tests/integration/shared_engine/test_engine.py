"""The whole engine on the real broker and real Spark, as its users meet it."""

import base64
import itertools
import json

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from integration.shared_engine.conftest import PARTITIONS
from integration.waiting import wait_for_tuples

from clients import (
    BadParameter,
    Refused,
    SynopsisExists,
    UnknownKind,
    UnknownStream,
    UnknownSynopsis,
)
from clients.lanes import lane_of
from sde.records.loop import Tick, loop_bytes
from sde.records.seal import LoopSeal
from synopses import KINDS, Items

pytestmark = pytest.mark.integration

ORDER_FREE = ["count_min", "hyperloglog", "fm", "bloom", "ams"]
QUERIES = {"count_min": {"key": "key 1"}, "bloom": {"key": "key 1"}}


def rows(count=4000, seed=11):
    rng = np.random.default_rng(seed)
    streams, keys = rng.integers(0, 60, count), rng.zipf(1.3, count) % 500
    weights = rng.integers(1, 9, count) / 4
    table = zip(streams.tolist(), keys.tolist(), weights.tolist(), strict=True)
    return [(f"s{s}", {"k": f"key {k}", "v": v}) for s, k, v in table]


def exact(kind, data, stream=None):
    """The synopsis of the same tuples, built directly."""
    chosen = [v for s, v in data if stream in (None, s)]
    synopsis = KINDS[kind]()
    synopsis.add(Items.of([v["k"] for v in chosen], values=[v["v"] for v in chosen]))
    return synopsis


def exported(pending):
    return base64.b64decode(pending.result()["value"])


def test_partitions_and_batch_sizes_show_neither_in_state_nor_in_answers(engine):
    data = rows()
    states, answers = {}, {}
    for topic, size in zip(PARTITIONS, (4000, 301, 57), strict=True):
        dataset = f"cut {topic}"
        with engine.client(topic) as sde:
            create_all(sde, dataset, topic)
            for start in range(0, len(data), size):
                for stream, values in data[start : start + size]:
                    sde.send(dataset, stream, values)
                sde.flush()
            wait_for_tuples(sde, f"ams stream {topic}", len(data))
            asked = {
                kind: (
                    sde.submit("export", uid=f"{kind} dataset {topic}"),
                    sde.submit("export", uid=f"{kind} stream {topic}", stream="s7"),
                    sde.submit_estimate(f"{kind} dataset {topic}", **QUERIES.get(kind, {})),
                )
                for kind in ORDER_FREE
            }
            for kind, (whole, one, estimate) in asked.items():
                states[topic, kind] = [exported(whole), exported(one)]
                answer = estimate.result()
                answers[topic, kind] = (answer.value, answer.lower, answer.upper, answer.tuples)
    for kind in ORDER_FREE:
        expected = [exact(kind, data).to_bytes(), exact(kind, data, "s7").to_bytes()]
        for topic in PARTITIONS:
            assert states[topic, kind] == expected
            assert answers[topic, kind] == answers["in-1", kind]


def create_all(sde, dataset, topic):
    pending = [
        sde.submit_create(
            kind,
            dataset=dataset,
            uid=f"{kind} {scope} {topic}",
            key="k",
            value="v" if "values" in KINDS[kind].reads else None,
            scope=scope,
        )
        for kind in ORDER_FREE
        for scope in ("dataset", "stream")
    ]
    for one in pending:
        one.result()


def test_hyperloglog_over_several_shards_is_the_union_not_the_sum(engine):
    data = [(f"s{i}", {"k": k}) for i in range(40) for k in range(300)]
    with engine.client("in-2") as sde:
        distinct = sde.create("hyperloglog", dataset="union", uid="union", key="k")
        sde.send_many("union", data)
        wait_for_tuples(sde, "union", len(data))
        answer = distinct.estimate()
        union = KINDS["hyperloglog"]()
        union.add(Items.of(list(range(300))))
        assert exported(sde.submit("export", uid="union")) == union.to_bytes()
    assert answer.value == union.cardinality().value
    assert answer.lower <= 300 <= answer.upper


def test_every_form_of_message_says_the_same(engine):
    data = rows(1500)
    forms = {
        "object": send_objects,
        "lines": send_lines,
        "frame": send_frame,
        "infore": send_infore,
    }
    with engine.client("in-5") as sde:
        for created in [
            sde.submit_create("count_min", dataset=f"form {f}", uid=f, key="k", value="v")
            for f in forms
        ]:
            created.result()
        for form, send in forms.items():
            send(sde, engine, f"form {form}", data)
        for form in forms:
            wait_for_tuples(sde, form, len(data))
        states = [exported(one) for one in [sde.submit("export", uid=form) for form in forms]]
    assert states == [exact("count_min", data).to_bytes()] * 4


def send_objects(sde, engine, dataset, data):
    for stream, values in data:
        sde.send(dataset, stream, values)
    sde.flush()


def send_lines(sde, engine, dataset, data):
    sde.send_many(dataset, data)


def send_frame(sde, engine, dataset, data):
    columns = {"stream": [s for s, _ in data]}
    columns |= {name: [v[name] for _, v in data] for name in ("k", "v")}
    sde.send_table(dataset, pa.table(columns))


def send_infore(sde, engine, dataset, data):
    """The system this one replaces: other names, values as text, numbers as text, quoted keys."""
    producer = Producer({"bootstrap.servers": engine.process.bootstrap_servers})
    for stream, values in data:
        text = json.dumps({"k": values["k"], "v": str(values["v"])})
        message = {"dataSetkey": dataset, "streamID": stream, "values": text}
        producer.produce("in-5", json.dumps(message), key=f'"{dataset}"')
    producer.flush()


def test_nothing_that_arrives_stops_the_engine(engine):
    servers = engine.process.bootstrap_servers
    good = {"dataset": "bad input", "stream": "s", "values": {"k": 1}}
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    fields = ",".join(f'"{i:x}":1' for i in range(1_000_000))
    wide = f'{{"dataset":"bad input","stream":"s","values":{{{fields}}}}}'
    bad_data = [
        b"\xff\xfe\x00",
        b"not json",
        b"[1, 2]",
        b"{}",
        b'{"dataset": "bad input"}',
        b'{"dataset": null, "stream": "s", "values": {}}',
        b'{"dataset": "bad input", "stream": "s", "values": 7}',
        b'{"dataset": "bad input", "stream": "s", "values": {"k": NaN}}',
        deep,
        wide.encode(),
        b'{"dataset": "bad input", "stream": "s", "values": {"k": "' + b"x" * 10_000_000 + b'"}}',
        b"\xff\xff\xff\xff\x10\x00\x00\x00 no frame at all",
    ]
    bad_requests = [b"\xff", b"[]", b"{}", b'{"op": "create"}', b'{"op": 1e999}', b"x" * 1_000_000]
    letters = Consumer(
        {"bootstrap.servers": servers, "group.id": "letters", "isolation.level": "read_committed"}
    )
    ends = letters.get_watermark_offsets(TopicPartition("sde-dead-letters", 0), 30)
    letters.assign([TopicPartition("sde-dead-letters", 0, ends[1])])
    with engine.client("in-2") as sde:
        sde.create("count_min", dataset="bad input", uid="among bad", key="k")
        producer = Producer({"bootstrap.servers": servers, "message.max.bytes": 16 << 20})
        for payload in bad_data:
            producer.produce("in-2", json.dumps(good))
            producer.produce("in-2", payload)
        for payload in bad_requests:
            producer.produce("sde-requests", payload)
        producer.flush()
        wait_for_tuples(sde, "among bad", len(bad_data))
        assert sde.estimate("among bad", key=1).value == len(bad_data)
    reasons = []
    while len(reasons) < len(bad_data):
        message = letters.poll(30)
        assert message is not None, f"only {reasons}"
        assert message.error() is None
        letter = json.loads(message.value())
        assert letter["message"]
        reasons.append(letter["code"])
    letters.close()
    assert set(reasons) <= {"bad_encoding", "bad_json", "bad_tuple", "bad_frame", "too_large"}


def test_who_reads_the_union_topic_can_neither_forge_a_tick_nor_find_the_secret(engine):
    servers, folder = engine.process.bootstrap_servers, engine.process.folder
    kept = json.loads((folder / "checkpoint" / "sde-loop-secret").read_text())["secret"]
    name = (folder / "checkpoint" / "sde-query-name").read_text()
    far = Tick(time=4 * 10**18)
    producer = Producer({"bootstrap.servers": servers})
    with engine.client("in-2") as sde:
        sde.create("count_min", dataset="forged", uid="forged", key="k", ttl="1d")
        for value in (
            json.dumps({"op": "tick", "checkpoint": name, "time": far.time}),
            loop_bytes(far, LoopSeal(name, name.encode())),
        ):
            producer.produce("sde-union", value)
        assert producer.flush(30) == 0
        assert sde.estimate("forged", "total").value == 0
        codes = [letter["code"] for letter in read_json(servers, "sde-dead-letters", "sde-union")]
        assert codes == ["untrusted"] * 2
        assert sde.estimate("forged", "total").value == 0
    holders = [path.name for path in folder.rglob("*") if holds(path, kept.encode())]
    assert holders == ["sde-loop-secret"]


def holds(path, text):
    try:
        return path.is_file() and text in path.read_bytes()
    except FileNotFoundError:  # it was of a batch that is over
        return False


def read_json(servers, topic, of):
    """The letters of a topic about another."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "all", "isolation.level": "read_committed"}
    )
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), 30)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found, position = [], 0
    while position < end - 1:  # the last one ends a transaction
        message = consumer.poll(30)
        assert message is not None
        found.append(json.loads(message.value()))
        position = message.offset() + 1
    consumer.close()
    return [one for one in found if one["topic"] == of]


def test_faults_come_as_typed_errors(engine):
    with engine.client("in-2") as sde:
        sde.create("count_min", dataset="faults", uid="taken", key="k", scope="stream")
        with pytest.raises(UnknownKind):
            sde.create("nope", dataset="faults", key="k")
        with pytest.raises(BadParameter, match="epsilon"):
            sde.create("count_min", dataset="faults", key="k", epsilon=3)
        with pytest.raises(SynopsisExists):
            sde.create("count_min", dataset="faults", uid="taken", key="other")
        with pytest.raises(UnknownSynopsis):
            sde.estimate("nobody", key=1)
        with pytest.raises(UnknownStream):
            sde.estimate("taken", key=1, stream="never came")


def test_a_reply_that_its_topic_does_not_take_is_a_fault_for_its_request(engine):
    with engine.client() as sde:
        scope = {"stream": "s"}
        wide = sde.create("count_min", dataset="wide", key="k", epsilon=8e-6, scope=scope)
        other = sde.create("count_min", dataset="wide", key="k", scope=scope)
        pending = [sde.submit("export", uid=uid) for uid in (wide.uid, other.uid)]
        with pytest.raises(Refused, match=r"too_large: the reply has 1.* bytes.*`snapshot`"):
            pending[0].result()
        assert pending[1].result()["status"] == "ok"
        wide.delete()


def test_a_synopsis_lives_from_create_to_delete(engine):
    with engine.client("in-2") as sde:
        one = sde.create("hyperloglog", dataset="life", uid="first", key="k")
        sde.create("hyperloglog", dataset="life", uid="second", key="k", reuse=True)
        sde.send_many("life", [("s", {"k": i}) for i in range(100)])
        wait_for_tuples(sde, "second", 100)
        assert {d.uid for d in sde.list("life")} == {"first", "second"}
        one.delete()
        assert [d.uid for d in sde.list("life")] == ["second"]
        assert sde.describe("second").tuples == 100
        sde.delete("second")
        assert sde.list("life") == ()


def test_every_kind_can_be_created_and_asked(engine):
    """Whatever a kind reads, at the widest scope it can serve."""
    data = [
        (f"s{i % 3}", {"k": f"k{i % 11}", "v": i % 50, "w": i % 7, "x": 1.5, "y": 2.0}, 1000 * i)
        for i in range(900)
    ]
    with engine.client("in-2") as sde:
        for created in [create_kind(sde, kind, cls) for kind, cls in KINDS.items()]:
            created.result()
        sde.send_many("kinds", data)
        wait_for_tuples(sde, "trajectory", len(data))
        asked = {
            (kind, name): ask_example(sde, kind, cls, question)
            for kind, cls in KINDS.items()
            for name, question in cls.questions.items()
            if not question.others
        }
        described = sde.list("kinds")
        for (kind, name), pending in asked.items():
            assert pending.result()["status"] == "ok", (kind, name)
    assert {d.uid: d.tuples for d in described} == dict.fromkeys(KINDS, len(data))


def create_kind(sde, kind, cls):
    fields = {1: "v", 4: ["v", "w", "x", "y"]}.get(cls.value_fields, ["v", "w"])
    return sde.submit_create(
        kind,
        dataset="kinds",
        uid=kind,
        key="k" if cls.reads & {"keys", "texts"} else None,
        value=fields if "values" in cls.reads else None,
        scope="dataset" if cls.mergeable else "stream",
        **({"window": 60, "basic_window": 10} if kind in ("dft", "lsh") else {}),
    )


def ask_example(sde, kind, cls, question):
    named = {"correlation": {"a": "s0", "b": "s1"}, "similar": {"stream": "s0"}}
    query = cls.example_query(question.name) | named.get(question.name, {})
    target = {} if cls.mergeable or question.across else {"stream": "s1"}
    return sde.submit("estimate", uid=kind, query=query, **target)


def test_history_of_which_one_partition_is_read_first_is_kept_whole(engine):
    """In order in each partition: nothing is late, without any lateness, in a new data set too."""
    lanes = PARTITIONS["in-5"]
    by_lane = [[s for s in map(str, range(20)) if lane_of("past", s, lanes) == n] for n in range(5)]
    with engine.client("in-5") as sde:
        window = {"size": "1m", "keep": "6h", "lateness": "0s"}
        sde.create("moments", dataset="past", uid="past", value="v", window=window)
        sent = 0
        for streams in by_lane:
            for minute, stream in itertools.product(range(300), streams):
                sde.send("past", stream, {"v": 1}, time=1_700_000_000_000 + 60_000 * minute)
            sde.flush()  # the engine begins with the first partition while the others are sent
            sent += 300 * len(streams)
        wait_for_tuples(sde, "past", sent)
        told = sde.describe("past").raw
        assert (told["late"], told["late_dropped"]) == (0, 0)
        sde.delete("past")


def test_every_request_is_answered_exactly_once(engine):
    servers = engine.process.bootstrap_servers
    output = Consumer(
        {"bootstrap.servers": servers, "group.id": "once", "isolation.level": "read_committed"}
    )
    end = output.get_watermark_offsets(TopicPartition("sde-output", 0), 30)[1]
    output.assign([TopicPartition("sde-output", 0, end)])
    producer = Producer({"bootstrap.servers": servers})
    wanted = [f"once-{i}" for i in range(300)]
    for i, name in enumerate(wanted):
        request = {"id": name, "op": "create", "uid": name, "dataset": "once", "kind": "fm"}
        request = request | {"key": "k"} if i % 3 else request
        producer.produce("sde-requests", json.dumps(request))
    producer.flush()
    seen = []
    while len(seen) < len(wanted):
        message = output.poll(120)
        assert message is not None
        reply = json.loads(message.value())
        if str(reply.get("request", "")).startswith("once-"):
            seen.append(reply["request"])
    assert output.poll(1) is None
    output.close()
    assert sorted(seen) == sorted(wanted)
