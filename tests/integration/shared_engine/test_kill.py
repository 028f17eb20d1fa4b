"""SIGKILL in the middle of a stream: afterwards everything is as if nothing had happened."""

import json
import time
from collections import Counter

import numpy as np
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from integration.waiting import wait_for_tuples

from clients.transport import Topics
from synopses import KINDS, Items

pytestmark = pytest.mark.integration

DATASET = "killed"
KINDS_ASKED = ("count_min", "hyperloglog", "quantiles", "sample")


def tuples(count):
    rng = np.random.default_rng(3)
    streams, keys = rng.integers(0, 200, count), rng.zipf(1.3, count) % 1000
    return [
        (f"s{s}", {"k": f"k{k}", "v": k / 8})
        for s, k in zip(streams.tolist(), keys.tolist(), strict=True)
    ]


def test_a_killed_service_goes_on_as_if_nothing_had_happened(engine):
    """The engine is killed twice while tuples and requests flow in."""
    data = tuples(120_000)
    process, servers = engine.process, engine.broker.bootstrap_servers
    topics = Topics()
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    sent = []

    def request(**fields):
        sent.append(f"kill-{len(sent)}")
        producer.produce(topics.requests, json.dumps({"id": sent[-1], **fields}))

    for kind in KINDS_ASKED:
        cls = KINDS[kind]
        fields = {"key": "k"} if cls.reads & {"keys", "texts"} else {"value": "v"}
        for scope in ("dataset", "stream"):
            request(
                op="create",
                uid=f"{kind} {scope}",
                dataset=DATASET,
                kind=kind,
                scope=scope,
                **fields,
            )
    producer.flush()
    third = len(data) // 3
    for part in range(3):
        for number, (stream, values) in enumerate(data[part * third : (part + 1) * third]):
            message = {"dataset": DATASET, "stream": stream, "values": values}
            producer.produce(topics.data, json.dumps(message), key=stream)
            producer.poll(0)
            if number % 2000 == 0:
                request(op="estimate", uid="count_min dataset", query={"key": "k1"})
        if part < 2:
            producer.flush()
            kill_in_a_batch(process)
            process.start()
    producer.flush()
    with engine.client() as sde:
        wait_for_tuples(sde, "hyperloglog dataset", len(data))
        check_against_recomputation(sde, data)
    assert replies(servers, topics.output, set(sent)) == Counter(sent)


def kill_in_a_batch(process):
    """After a random while, so that some batch is in the middle of something."""
    time.sleep(np.random.default_rng(process.pid).uniform(0.3, 2.5))
    process.kill()


def check_against_recomputation(sde, data):
    for kind in ("count_min", "hyperloglog"):
        whole = KINDS[kind]()
        whole.add(Items.of([v["k"] for _, v in data]))
        assert sde.export(f"{kind} dataset") == whole.to_bytes()
        for stream in ("s0", "s77", "s199"):
            one = KINDS[kind]()
            one.add(Items.of([v["k"] for s, v in data if s == stream]))
            assert sde.export(f"{kind} stream", stream=stream) == one.to_bytes()
    exact = Counter(v["k"] for _, v in data)
    answers = {k: sde.submit_estimate("count_min dataset", key=k) for k in exact}
    sketch = KINDS["count_min"]()
    sketch.add(Items.of([v["k"] for _, v in data]))
    for key, pending in answers.items():
        answer = pending.result()
        assert (answer.value, answer.tuples) == (sketch.frequency(key).value, len(data))
    median = sde.estimate("quantiles dataset", q=0.5)
    assert median.lower <= np.quantile([v["v"] for _, v in data], 0.5) <= median.upper
    population = sde.estimate("sample dataset", "population")
    assert population.lower <= len(data) <= population.upper


def replies(servers, topic, wanted):
    """How often each request was answered, in the whole committed topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "replies",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    counted = Counter()
    while True:
        message = consumer.poll(30)
        assert message is not None
        if message.error() is not None:
            consumer.close()
            return counted
        name = json.loads(message.value()).get("request")
        if name in wanted:
            counted[name] += 1
