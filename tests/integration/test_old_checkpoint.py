"""An engine starts on a checkpoint of a past version, and answers and goes on as that one did.

golden/checkpoint/spark.tar.xz holds the checkpoint and the kept synopses of an engine that was
stopped, the settings it had, how far it had read its topics, and what the version of that day said
when it was started again: see golden/checkpoint/make_checkpoint.py, which ran with commit b010dd9.
"""

import base64
import json
import re
import tarfile
from pathlib import Path

import pytest
from confluent_kafka import Producer

from clients import Client, KafkaTransport
from clients.engine_process import EngineProcess
from clients.transport import Topics
from service.kafka.topics import TopicSpec, ensure_topics
from tests.golden.same_replies import same

pytestmark = pytest.mark.integration

FOLDER = Path(__file__).parents[1] / "golden" / "checkpoint"
VOLATILE = ("id", "request", "batch")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    with tarfile.open(FOLDER / "spark.tar.xz") as tar:
        tar.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def said(kept):
    """What the version of that day was asked and answered."""
    return json.loads((kept / "answers.json").read_text())


def move(checkpoint):
    """Spark notes where a checkpoint lies in the checkpoint itself: that is here now."""
    for path in checkpoint.glob("state/*/_metadata/v2/[0-9]*"):
        text = path.read_text()
        path.write_text(re.sub(r'"file:[^"]*/checkpoint/', f'"file:{checkpoint}/', text))
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def refill(servers, topics):
    """Topics whose ends are where the checkpoint stopped reading, and then what it had not read.

    What was read is not needed any more: anything stands in its place.
    """
    counts = [TopicSpec(name, len(partitions)) for name, partitions in topics.items()]
    ensure_topics({"bootstrap.servers": servers}, counts)
    producer = Producer({"bootstrap.servers": servers})
    for name, partitions in topics.items():
        for partition, place in partitions.items():
            rest = [base64.b64decode(message) for message in place["rest"]]
            for value in [b"{}"] * place["offset"] + rest:
                producer.produce(name, value, partition=int(partition))
    assert producer.flush(60) == 0


@pytest.fixture(scope="module")
def sde(kept, broker):
    servers = broker.bootstrap_servers
    move(kept / "checkpoint")
    refill(servers, json.loads((kept / "topics.json").read_text()))
    config = kept / "here.toml"
    config.write_text(f'bootstrap_servers = "{servers}"\n' + (kept / "sde.toml").read_text())
    with EngineProcess(kept, "--config", str(config)) as engine:
        named = engine.address["topics"]
        topics = Topics(named["requests"], named["data"][0], named["output"], named["dead_letters"])
        with Client(KafkaTransport(servers, topics=topics), timeout=120) as client:
            yield client


def answers(sde, requests):
    """The replies, without what every reply has of its own."""
    pending = [sde.submit(r["op"], **{n: v for n, v in r.items() if n != "op"}) for r in requests]
    replies = [one.result() for one in pending]
    return [{n: v for n, v in reply.items() if n not in VOLATILE} for reply in replies]


def assert_same(found, kept):
    for one, two in zip(found, kept, strict=True):
        assert same(one, two), f"{one}\nwas:\n{two}"


def test_the_answers_are_those_of_the_past_version(sde, said):
    assert_same(answers(sde, said["questions"]), said["answers"])


def test_repeated_requests_get_the_outcome_they_had(sde, said):
    assert_same(answers(sde, said["repeats"]), said["outcomes"])


def test_a_watch_by_the_clock_goes_on_behind_its_last_answer(sde, said):
    number, value = said["last"]["w-every"]
    answer = next(sde.watching("w-every", timeout=120))
    assert answer.number > number
    assert answer.value == value


def test_tuples_are_added_windows_close_and_watches_answer_as_they_did(sde, said):
    changes, closes = (sde.watching(watch, timeout=120) for watch in ("w-change", "w-close"))
    sde.send_many("d", [tuple(row) for row in said["further"]])
    assert [[a.number, a.value] for a in [next(changes)]] == said["changed"]
    assert [[a.number, a.value] for a in [next(closes)]] == said["closed"]
    assert_same(answers(sde, said["questions"]), said["further_answers"])


def test_a_version_that_the_past_engine_kept_is_restored(sde):
    """It was kept when 160 tuples had come."""
    (restored,) = answers(sde, [{"op": "restore", "uid": "median", "as": "once more"}])
    assert restored["value"] == "1"
    query = {"type": "quantile", "q": 0.25}
    (again,) = answers(sde, [{"op": "estimate", "uid": "once more", "query": query}])
    assert again["tuples"] == 160
