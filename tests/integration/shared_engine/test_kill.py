"""SIGKILL in the middle of a stream: afterwards everything is as if nothing had happened."""

import itertools
import json
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from integration.shared_engine.plugin_keys import plug_in
from integration.waiting import wait_for_tuples
from plugin_sources import TOTAL

from clients import Client
from clients.transport import Topics
from clients.watch import Watch
from service.kafka.topics import TopicSpec, ensure_topics
from synopses import KINDS, Items

pytestmark = pytest.mark.integration

DATASET = "killed"
KINDS_ASKED = ("count_min", "hyperloglog", "quantiles", "sample")
START, SPAN, WINDOW = 1_700_000_000_000, 60_000, 20_000
KILLS, A_PART = 2, 15_000
RECORDS = [{"from": f"s{i % 7}", "size": i} for i in range(5_000)]


def tuples(count):
    rng = np.random.default_rng(3)
    streams, keys = rng.integers(0, 200, count), rng.zipf(1.3, count) % 1000
    times = START + np.arange(count) * SPAN // count
    return [
        {"dataset": DATASET, "stream": f"s{s}", "time": t, "values": {"k": f"k{k}", "v": k / 8}}
        for s, k, t in zip(streams.tolist(), keys.tolist(), times.tolist(), strict=True)
    ]


DATA = tuples((KILLS + 1) * A_PART)


@dataclass
class Killed:
    """What was asked of an engine that was killed twice while all of DATA flowed in."""

    sde: Client
    watch: Watch
    watched_before: int  # number of an answer
    plugins_before: list
    sent: list  # ids of requests
    servers: str


@pytest.fixture(scope="module")
def killed(engine):
    process, servers, topics = engine.process, engine.broker.bootstrap_servers, Topics()
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    sent = []

    def request(**fields):
        sent.append(f"kill-{len(sent)}")
        producer.produce(topics.requests, json.dumps({"id": sent[-1], **fields}))

    with engine.client(timeout=180) as sde:
        create_all(sde)
        add_source(sde, servers)
        before = sde.submit("plugins").result()["value"]
        with sde.watch("count_min dataset", "total", every="1s", timeout=180) as watch:
            watched = next(watch).number
            for part in range(KILLS + 1):
                for number, message in enumerate(DATA[part * A_PART : (part + 1) * A_PART]):
                    producer.produce(topics.data, json.dumps(message), key=message["stream"])
                    producer.poll(0)
                    if number % 1000 == 0:
                        request(op="estimate", uid="count_min dataset", query={"key": "k1"})
                producer.flush()
                if part < KILLS:
                    kill_in_a_batch(process)
                    process.start()
            wait_for_tuples(sde, "hyperloglog dataset", len(DATA))
            yield Killed(sde, watch, watched, before, sent, servers)


def create_all(sde):
    for kind in KINDS_ASKED:
        fields = {"key": "k"} if KINDS[kind].reads & {"keys", "texts"} else {"value": "v"}
        for scope in ("dataset", "stream"):
            sde.create(kind, uid=f"{kind} {scope}", dataset=DATASET, scope=scope, **fields)
    window = {"size": f"{WINDOW}ms", "keep": "5m", "lateness": "1m"}
    sde.create("count_min", uid="windows", dataset=DATASET, key="k", window=window)
    plug_in(sde, "survivor", TOTAL.replace('kind = "total"', 'kind = "survivor"'))
    sde.create("survivor", uid="summed", dataset=DATASET, value="v")


def add_source(sde, servers):
    """A topic of others, which is not read yet when the first kill comes."""
    ensure_topics({"bootstrap.servers": servers}, [TopicSpec("of-others", 3)])
    producer = Producer({"bootstrap.servers": servers})
    for record in RECORDS:
        producer.produce("of-others", json.dumps(record))
    assert producer.flush(30) == 0
    sde.create("moments", uid="of others", dataset="Others", value="double")
    sde.add_source(
        "of-others",
        topic="of-others",
        dataset="Others",
        stream="from",
        fields={"double": "2 * size"},
        start="earliest",
    )


def kill_in_a_batch(process):
    """After a random while, so that some batch is in the middle of something."""
    time.sleep(np.random.default_rng(process.pid).uniform(0.3, 2.5))
    process.kill()


def built(kind, messages):
    synopsis = KINDS[kind]()
    synopsis.add(Items.of([message["values"]["k"] for message in messages]))
    return synopsis


def test_states_are_those_of_a_recomputation(killed):
    for kind in ("count_min", "hyperloglog"):
        assert killed.sde.export(f"{kind} dataset") == built(kind, DATA).to_bytes()
        for stream in ("s0", "s77", "s199"):
            alone = built(kind, [m for m in DATA if m["stream"] == stream])
            assert killed.sde.export(f"{kind} stream", stream=stream) == alone.to_bytes()
    for start in range(START, START + SPAN, WINDOW):
        inside = [m for m in DATA if start <= m["time"] < start + WINDOW]
        told = killed.sde.export("windows", end=start + WINDOW)
        assert told == built("count_min", inside).to_bytes()


def test_answers_are_those_of_a_recomputation(killed):
    exact, sketch = Counter(m["values"]["k"] for m in DATA), built("count_min", DATA)
    asked = {k: killed.sde.submit_estimate("count_min dataset", key=k) for k in exact}
    for key, pending in asked.items():
        answer = pending.result()
        assert (answer.value, answer.tuples) == (sketch.frequency(key).value, len(DATA))
    median = killed.sde.estimate("quantiles dataset", q=0.5)
    assert median.lower <= np.quantile([m["values"]["v"] for m in DATA], 0.5) <= median.upper
    population = killed.sde.estimate("sample dataset", "population")
    assert population.lower <= len(DATA) <= population.upper


def test_every_request_was_answered_once(killed):
    answered = replies(killed.servers, Topics().output, set(killed.sent))
    assert answered == Counter(killed.sent)


def test_a_plug_in_and_its_states_are_there(killed):
    assert killed.sde.submit("plugins").result()["value"] == killed.plugins_before
    assert killed.sde.estimate("summed").value == sum(m["values"]["v"] for m in DATA)


def test_a_watch_goes_on(killed):
    numbers = [answer.number for answer in itertools.islice(killed.watch, 3)]
    assert numbers[0] > killed.watched_before
    assert numbers == sorted(set(numbers))


def test_a_topic_of_others_was_read_once(killed):
    wait_for_tuples(killed.sde, "of others", len(RECORDS))
    assert killed.sde.estimate("of others", "sum").value == sum(2 * r["size"] for r in RECORDS)
    killed.sde.remove_source("of-others")


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
