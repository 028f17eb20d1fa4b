"""Messages that kill the process that handles them, planted on every topic and in every stage of
one real engine: each is found and left out, and everything else is as if it had never been there.
"""

import json
from collections import Counter

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from integration.waiting import wait_for_tuples

from clients import Client, KafkaTransport
from clients.engine_process import EngineProcess
from clients.transport import Topics
from synopses import CountMin, Items

pytestmark = pytest.mark.integration

DEATHS = {
    "die-in-ingest": "ingest:kill",
    "die-in-maintain": "maintain:segv",
    "die-in-merge": "merge:raise",
    "hang-in-maintain": "maintain:loop",
}
ROLES = ("requests", "output", "dead_letters", "union", "outbound", "commits")
NAMES = {role: f"net-{role}" for role in ROLES}
DATA = "net-data"
GOOD = 3  # tuples between two that are planted


@pytest.fixture(scope="module")
def said():
    """What the engine reports on the terminal."""
    return []


@pytest.fixture(scope="module")
def engine(tmp_path_factory, broker, said):
    folder = tmp_path_factory.mktemp("net")
    config = folder / "sde.toml"
    lines = [f'{role} = "{name}"' for role, name in NAMES.items()]
    config.write_text(
        f'bootstrap_servers = "{broker.bootstrap_servers}"\nstuck_seconds = 15\n'
        f'[topics]\ndata = ["{DATA}"]\n' + "\n".join(lines)
    )
    with pytest.MonkeyPatch.context() as patch:
        planted = ",".join(f"{where}:{text}" for text, where in DEATHS.items())
        patch.setenv("SDE_TEST_DEATH", planted)
        with EngineProcess(folder / "data", "--config", str(config), say=said.append) as process:
            yield process


class Sent:
    """Messages as a careless program sends them, and what has to come of them."""

    def __init__(self, servers):
        self._producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
        self.keys, self.asked, self.planted = [], [], 0

    def tuples(self, count=GOOD):
        for _ in range(count):
            self.keys.append(len(self.keys) % 7)
            self._data(f"s{len(self.keys) % 5}", self.keys[-1])

    def deadly_tuple(self, text):
        self.planted += 1
        self._data(text, 3)

    def _data(self, stream, key):
        message = {"dataset": "d", "stream": stream, "values": {"k": key}}
        self._producer.produce(DATA, json.dumps(message), partition=0)

    def request(self, **fields):
        self.asked.append(f"r{len(self.asked)}")
        self._producer.produce(NAMES["requests"], json.dumps({"id": self.asked[-1], **fields}))
        return self.asked[-1]

    def deadly_request(self, text):
        self.planted += 1
        return self.request(op="describe", uid=text)

    def deadly_message_of_the_loop(self, text):
        self.planted += 1
        self._producer.produce(NAMES["union"], text)

    def flush(self):
        assert self._producer.flush(30) == 0


@pytest.fixture(scope="module")
def sent(engine, broker):
    """All at once, so that several of them meet in a batch. Each death takes seconds: there are few
    messages, and next to the one that hangs stands one that kills at once."""
    with client(broker) as sde:
        sde.create("count_min", dataset="d", uid="u", key="k")
    sent = Sent(broker.bootstrap_servers)
    sent.tuples()
    sent.deadly_tuple("die-in-maintain")
    sent.tuples()
    sent.deadly_tuple("hang-in-maintain")
    sent.deadly_tuple("die-in-ingest")
    sent.tuples()
    sent.deadly_message_of_the_loop("die-in-ingest")
    sent.request(op="describe", uid="u")
    sent.deadly_request("die-in-merge")
    sent.request(op="estimate", uid="u", query={"key": 3})
    sent.flush()
    with client(broker) as sde:
        wait_for_tuples(sde, "u", len(sent.keys), seconds=240)
    return sent


def client(broker):
    topics = Topics(NAMES["requests"], DATA, NAMES["output"], NAMES["dead_letters"])
    return Client(KafkaTransport(broker.bootstrap_servers, topics=topics), timeout=240)


def read_all(broker, role):
    """All committed messages of a topic of one partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "net",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(NAMES[role], 0, 0)])
    found = []
    while True:
        message = consumer.poll(30)
        assert message is not None
        if message.error() is not None:
            consumer.close()
            return found
        found.append(json.loads(message.value()))


def test_every_good_tuple_counts_once_and_no_other_does(sent, broker):
    recomputed = CountMin()
    recomputed.add(Items.of(sent.keys))
    with client(broker) as sde:
        assert sde.export("u") == recomputed.to_bytes()


def test_every_request_has_one_reply_also_those_that_killed(sent, broker):
    replies = [reply for reply in read_all(broker, "output") if reply["request"] in sent.asked]
    assert Counter(reply["request"] for reply in replies) == Counter(sent.asked)
    codes = Counter(reply.get("code") for reply in replies if reply["status"] == "error")
    assert codes == {"passed_over": 1}


def test_a_message_that_killed_is_one_dead_letter(sent, broker):
    letters = read_all(broker, "dead_letters")
    assert {letter["code"] for letter in letters} == {"passed_over"}
    places = [(letter["topic"], letter["partition"], letter["offset"]) for letter in letters]
    assert len(places) == len(set(places)) == sent.planted


def test_the_engine_says_what_it_passed_over_and_counts_it(sent, engine, said):
    assert sum("PASSED OVER" in line for line in said) == sent.planted
    last = (engine.folder / "logs" / "batches.jsonl").read_text().splitlines()[-1]
    assert json.loads(last)["passed_over"] == sent.planted


def test_afterwards_the_engine_counts_as_always(sent, broker):
    with client(broker) as sde:
        sde.send("d", "s", {"k": 3})
        wait_for_tuples(sde, "u", len(sent.keys) + 1)
