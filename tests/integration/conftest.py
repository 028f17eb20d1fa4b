"""Real engines on a real broker: started as a user starts them."""

import time
from dataclasses import dataclass

import pytest

from clients import Client, KafkaTransport
from clients.engine_process import EngineProcess
from clients.transport import Topics
from service.kafka.topics import TopicSpec, ensure_topics

PARTITIONS = {"in-1": 1, "in-2": 2, "in-5": 5}


@dataclass
class Running:
    """An engine to talk to."""

    process: EngineProcess

    def client(self, data="in-2", timeout=60):
        named = self.process.address["topics"]
        topics = Topics(named["requests"], data, named["output"], named["dead_letters"])
        return Client(
            KafkaTransport(self.process.bootstrap_servers, topics=topics), timeout=timeout
        )


@pytest.fixture(scope="module")
def engine(tmp_path_factory, broker):
    """One engine for all tests of a file; each test uses its own data set."""
    folder = tmp_path_factory.mktemp("engine")
    servers = broker.bootstrap_servers
    specs = [TopicSpec(name, count) for name, count in PARTITIONS.items()]
    ensure_topics({"bootstrap.servers": servers}, specs)
    config = folder / "sde.toml"
    config.write_text(
        f"""
        bootstrap_servers = "{servers}"
        shards = 5
        [topics]
        data = {list(PARTITIONS)}
        """
    )
    with EngineProcess(folder / "data", "--config", str(config)) as process:
        yield Running(process)


def wait_for_tuples(sde, uid, count, seconds=120):
    """Ask until a synopsis has seen `count` tuples (counted or skipped)."""
    deadline = time.monotonic() + seconds
    while True:
        reply = sde.submit("describe", uid=uid).result()["value"]
        seen = reply["tuples"] + reply["skipped"]
        if seen >= count:
            assert seen == count
            return
        assert time.monotonic() < deadline, f"{seen} of {count} tuples after {seconds} s"
