"""The secret of a checkpoint: made once, for its owner only, and what is believed without it."""

import json
import stat
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from service.engine import loop_secret
from service.engine.loop_secret import end_upgrade, make_secret, read_seal
from service.kafka.topics import TopicSpec, ensure_topics
from service.settings import Settings, Topics
from service.startup_errors import StartupError


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path)


def test_it_is_made_once_and_only_its_owner_may_read_it(settings):
    make_secret(settings)
    seal = read_seal(settings)
    (path,) = settings.checkpoint.glob("sde-loop-secret*")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (len(seal.secret), dict(seal.unsealed_before)) == (32, {})
    make_secret(settings)
    assert read_seal(settings) == seal


def test_two_checkpoints_have_different_ones(tmp_path):
    seals = []
    for name in ("a", "b"):
        settings = Settings(data_dir=tmp_path / name)
        make_secret(settings)
        seals.append(read_seal(settings))
    assert seals[0].secret != seals[1].secret
    assert seals[0].checkpoint != seals[1].checkpoint


def test_a_damaged_one_is_no_new_one(settings):
    make_secret(settings)
    (settings.checkpoint / "sde-loop-secret").write_text(json.dumps({"secret": 5}))
    with pytest.raises(StartupError, match="sde-loop-secret"):
        read_seal(settings)


def test_an_older_checkpoint_believes_what_stands_in_its_topic_until_that_was_read(
    settings, monkeypatch
):
    (settings.checkpoint / "offsets").mkdir(parents=True)
    monkeypatch.setattr(loop_secret, "_ends", lambda _: {"sde-union": 7})
    make_secret(settings)
    seal = read_seal(settings)
    assert seal.is_older("sde-union", 6)
    assert not seal.is_older("sde-union", 7)
    assert not seal.is_older("sde-peers", 0)
    end_upgrade(settings)
    assert read_seal(settings).secret == seal.secret
    assert not read_seal(settings).is_older("sde-union", 6)


@pytest.mark.integration
def test_the_end_is_that_of_the_topic(settings, broker):
    servers, topic, requests = broker.bootstrap_servers, "secret-union", "secret-requests"
    ensure_topics({"bootstrap.servers": servers}, [TopicSpec(topic), TopicSpec(requests)])
    producer = Producer({"bootstrap.servers": servers})
    for _ in range(5):
        producer.produce(topic, b"{}")
    assert producer.flush(30) == 0
    topics = Topics(union=topic, requests=requests)
    named = replace(settings, bootstrap_servers=servers, topics=topics)
    (named.checkpoint / "offsets").mkdir(parents=True)
    make_secret(named)
    assert dict(read_seal(named).unsealed_before) == {topic: 5, requests: 0}
