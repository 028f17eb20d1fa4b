"""One real engine on a real broker, started as a user starts it, for all files of this folder."""

from dataclasses import dataclass

import pytest
from integration.shared_engine.plugin_keys import AUTHOR, public

from clients import Client, KafkaTransport
from clients.engine_process import EngineProcess
from clients.transport import Topics
from service.broker.embedded import EmbeddedBroker
from service.broker.ports import free_ports
from service.kafka.topics import TopicSpec, ensure_topics
from tests.docs.test_pages import run

PARTITIONS = {"in-1": 1, "in-2": 2, "in-5": 5}
LOGGING = "sde-logging"


@dataclass
class Running:
    """An engine to talk to."""

    process: EngineProcess
    broker: EmbeddedBroker
    said: list[str]  # on its terminal
    http: str  # where it serves HTTP

    def client(self, data="sde-data", timeout=120):
        topics = Topics(data=data)
        return Client(
            KafkaTransport(self.process.bootstrap_servers, topics=topics), timeout=timeout
        )


@pytest.fixture(scope="package")
def engine(tmp_path_factory, broker):
    """Each test uses data sets and uids of its own. A test may kill or rescale the engine, or kill
    its broker, if they run again when the test ends."""
    folder = tmp_path_factory.mktemp("engine")
    servers = broker.bootstrap_servers
    specs = [TopicSpec(name, count) for name, count in PARTITIONS.items()]
    ensure_topics({"bootstrap.servers": servers}, specs)
    made = run(folder, "sde", "plugin", "keygen")
    assert made.returncode == 0, made.stderr
    config = folder / "sde.toml"
    config.write_text(
        f"""
        bootstrap_servers = "{servers}"
        shards = 5
        plugin_keys = ["{public(AUTHOR)}", "{made.stdout.split()[0]}"]
        [limits]
        plugin_seconds = 8
        plugin_bytes = {256 << 20}
        [metrics]
        watches = ["metrics-watch"]
        [topics]
        data = {[*PARTITIONS, "sde-data"]}
        logging = "{LOGGING}"
        """
    )
    said: list[str] = []
    address = f"127.0.0.1:{free_ports()[0]}"
    flags = ("--config", str(config), "--cores", "2", "--http", address)
    with EngineProcess(folder / "sde-data", *flags, say=said.append) as process:
        yield Running(process, broker, said, f"http://{address}")
    assert not (folder / "sde-data" / "arena").exists()
