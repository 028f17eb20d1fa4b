"""The whole engine on a broker that lets in only who has a password, over TLS."""

import json

import pytest
from confluent_kafka import Producer
from integration.waiting import wait_for_tuples

from bench.secure_broker import SecureBroker
from clients import Client, ClientError
from clients.engine_process import EngineProcess
from service.kafka.topics import TopicSpec, ensure_topics

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    with SecureBroker(tmp_path_factory.mktemp("secure")) as broker:
        yield broker


def config(folder, settings):
    lines = [f'"{name}" = {json.dumps(str(value))}' for name, value in settings.items()]
    path = folder / "sde.toml"
    servers = settings["bootstrap.servers"]
    path.write_text(f'bootstrap_servers = "{servers}"\n[kafka]\n' + "\n".join(lines))
    return ("--config", str(path))


def test_an_engine_reads_compressed_topics_over_tls_with_a_password(secure, tmp_path):
    settings = secure.settings("SECURE", "SCRAM-SHA-512")
    ensure_topics(settings, [TopicSpec("trades", 2)])
    for codec in ("lz4", "zstd"):
        producer = Producer({**settings, "compression.type": codec, "linger.ms": 5})
        for i in range(1000):
            producer.produce("trades", json.dumps({"sym": f"S{i % 3}", "px": i}), str(i))
        assert producer.flush(30) == 0
    with EngineProcess(tmp_path / "data", *config(tmp_path, settings)):
        client = Client(settings["bootstrap.servers"], settings=settings, timeout=120)
        with client as sde:
            prices = sde.create("moments", dataset="Trades", uid="prices", value="px")
            sde.add_source(
                "trades", topic="trades", dataset="Trades", stream="sym", start="earliest"
            )
            wait_for_tuples(sde, "prices", 2000)
            assert prices.estimate("sum").value == 2 * sum(range(1000))


def test_an_engine_with_a_wrong_password_says_so_and_ends(secure, tmp_path):
    settings = secure.settings("SECURE", "SCRAM-SHA-512")
    wrong = {**settings, "sasl.password": "not the one"}
    engine = EngineProcess(tmp_path / "data", *config(tmp_path, wrong))
    with pytest.raises(ClientError, match=r"sasl\.password"):
        engine.start()
