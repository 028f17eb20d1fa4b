"""How the command line is told where Kafka is, and what its topics are called."""

import json

import click
import pytest

from clients import Topics
from clients.cli.session import Session


def session(**given) -> Session:
    options = {"bootstrap_servers": None, "kafka_config": None, "overrides": (), "topic_names": ()}
    return Session(**{**options, "timeout": 1.0, "as_json": False, **given})


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.delenv("SDE_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_the_user_says_comes_first(folder) -> None:
    settings, topics = session(bootstrap_servers="here:9092").kafka()
    assert settings == {"bootstrap.servers": "here:9092"}
    assert topics == Topics()


def test_security_settings_come_from_a_file_and_single_words(folder) -> None:
    properties = folder / "client.properties"
    properties.write_text("# comment\nsecurity.protocol = SASL_SSL\n\nsasl.password=a=b\n")
    given = session(
        bootstrap_servers="here:1", kafka_config=properties, overrides=("sasl.username=me",)
    )
    assert given.kafka()[0] == {
        "bootstrap.servers": "here:1",
        "security.protocol": "SASL_SSL",
        "sasl.password": "a=b",
        "sasl.username": "me",
    }
    as_json = folder / "client.json"
    as_json.write_text(
        '{"bootstrap.servers": "there:1", "enable.ssl.certificate.verification": true}'
    )
    assert session(kafka_config=as_json).kafka()[0] == json.loads(as_json.read_text())


@pytest.mark.parametrize(
    "given", [{"overrides": ("x",)}, {"topic_names": ("x=y",)}, {"topic_names": ("data",)}]
)
def test_a_setting_of_the_wrong_form_is_refused(given) -> None:
    with pytest.raises(click.UsageError, match="expected"):
        session(bootstrap_servers="here:1", **given).kafka()


def test_topics_can_have_other_names() -> None:
    given = session(bootstrap_servers="here:1", topic_names=("data=d", "dead-letters=l"))
    assert given.kafka()[1] == Topics(data="d", dead_letters="l")
