"""Fetching from brokers with TLS and SASL; what keeps us out is named, and how to mend it."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer

from bench.secure_broker import SESSION_MS, SecureBroker
from service.kafka import direct_consumer, logs, presence
from service.kafka.access import check_access
from service.kafka.broker_connection import BrokerConnection
from service.kafka.chunk import ChunkShape
from service.kafka.cursor import Cursor
from service.kafka.direct_consumer import DirectConsumer
from service.kafka.errors import AccessRefused, BrokerSilent
from service.kafka.fetch import best_way, close_idle, fetch
from service.kafka.logs import LogEnds
from service.kafka.plain_consumer import PlainConsumer
from service.kafka.presence import PresenceQuestion
from service.kafka.security import security_of
from service.kafka.topics import TopicSpec, ensure_topics

pytestmark = pytest.mark.integration
COUNT = 3000
TOKEN = {"enable.sasl.oauthbearer.unsecure.jwt": True}


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    with SecureBroker(tmp_path_factory.mktemp("secure")) as broker:
        plain = broker.settings("PLAINTEXT")
        ensure_topics(plain, [TopicSpec(codec, 2) for codec in ("none", "lz4", "zstd")])
        for codec in ("none", "lz4", "zstd"):
            producer = Producer({**plain, "compression.type": codec, "linger.ms": 5})
            for i in range(COUNT):
                headers = [("n", b"%d" % i)]
                producer.produce(codec, b"payload %d" % i * 9, b"k%d" % i, 1, headers=headers)
            assert producer.flush(30) == 0
        yield broker
        close_idle()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """librdkafka gives up after them only: it never says that it is refused."""
    monkeypatch.setattr(direct_consumer, "_METADATA_SECONDS", 1.0)
    monkeypatch.setattr(logs, "_REQUEST_SECONDS", 1.0)
    monkeypatch.setattr(presence, "_SECONDS", 1.0)


def with_client_certificate(secure):
    own = secure.client
    return {
        **secure.settings("MUTUAL"),
        "ssl.certificate.location": str(own.certificate),
        "ssl.key.location": str(own.key),
        "ssl.key.password": "its secret",
    }


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
@pytest.mark.parametrize(
    ("listener", "mechanism"),
    [
        ("TLS", ""),
        ("LOGIN", "PLAIN"),
        ("LOGIN", "SCRAM-SHA-512"),
        ("SECURE", "PLAIN"),
        ("SECURE", "SCRAM-SHA-256"),
        ("SECURE", "SCRAM-SHA-512"),
    ],
)
def test_both_ways_deliver_the_same_messages(secure, gather, codec, listener, mechanism):
    settings = secure.settings(listener, mechanism)
    assert best_way(settings) is DirectConsumer
    consumer = DirectConsumer(settings)
    shape = ChunkShape(1 << 20, 700, keys=True, headers=True)
    direct = list(consumer.read(Cursor(settings, codec, 1, 5, COUNT - 5, 30), shape))
    assert consumer._plain is None  # it read all of it
    consumer.close()
    asked = {"keys": True, "headers": True, "way": PlainConsumer}
    plain = list(fetch(settings, codec, 1, 5, COUNT - 5, **asked))
    assert gather(direct) == gather(plain)
    assert len(gather(direct)) == COUNT - 10
    for part in ("keys", "headers"):
        found, expected = (
            [piece for chunk in chunks for piece in getattr(chunk, part)]
            for chunks in (direct, plain)
        )
        assert found == expected


def test_a_broker_that_wants_a_certificate_of_ours_gets_it(secure, gather):
    settings = with_client_certificate(secure)
    assert len(gather(fetch(settings, "none", 1, 0, COUNT, way=DirectConsumer))) == COUNT


def test_a_session_that_ends_is_begun_anew_before(secure, gather, caplog):
    """The broker would end the connection in the middle of a range."""
    settings = secure.settings("SECURE", "PLAIN")
    consumer = DirectConsumer(settings)
    found = []
    for start in range(0, COUNT, COUNT // 10):
        cursor = Cursor(settings, "lz4", 1, start, start + COUNT // 10, 30)
        found += gather(consumer.read(cursor, ChunkShape(1 << 20, 100)))
        time.sleep(SESSION_MS / 1000 / 4)
    assert [offset for offset, _, _ in found] == list(range(COUNT))
    assert consumer._plain is None
    assert "trying again" not in caplog.text
    consumer.close()


def wrong(secure):
    """Settings with one mistake each, and what is said of it."""
    tls, scram = secure.settings("TLS"), secure.settings("SECURE")
    by_name = str(tls["bootstrap.servers"]).replace("127.0.0.1", "localhost")
    stranger = str(secure.stranger.file)
    return {
        "authority": ({**tls, "ssl.ca.location": stranger}, r"not signed by.*ssl\.ca\.location"),
        "host": (
            {**tls, "bootstrap.servers": by_name},
            r"for another host.*ssl\.endpoint\.identification\.algorithm",
        ),
        "expired": (secure.settings("EXPIRED"), r"certificate has expired\): it is not valid now"),
        "certificate": (secure.settings("MUTUAL"), r"ALERT.*ssl\.certificate\.location"),
        "password": ({**scram, "sasl.password": "x"}, r"refuses user 'ann,='.*check sasl\.user"),
        "user": ({**scram, "sasl.username": "bob"}, r"refuses user 'bob'.*check sasl\.user"),
        "mechanism": (
            {**secure.settings("UNUSUAL"), "sasl.mechanism": "SCRAM-SHA-256"},
            r"does not offer SCRAM-SHA-256: set sasl\.mechanism to one of PLAIN",
        ),
        "protocol": ({"bootstrap.servers": tls["bootstrap.servers"]}, r"set security\.protocol to"),
    }


MISTAKES = [
    "authority", "host", "expired", "certificate", "password", "user", "mechanism", "protocol",
]  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_who_is_kept_out_is_told_why_and_what_to_do(secure, mistake):
    settings, expected = wrong(secure)[mistake]
    with pytest.raises(AccessRefused, match=expected):
        check_access(settings)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_fetch_and_a_look_at_offsets_end_with_the_reason(secure, mistake):
    """Whoever meets it first, and though librdkafka would try for ever."""
    settings, expected = wrong(secure)[mistake]
    with pytest.raises(AccessRefused, match=expected):
        list(fetch(settings, "none", 1, 0, 10, way=DirectConsumer))
    with pytest.raises(AccessRefused, match=expected):
        LogEnds(settings, ["none"], patience=60).ends()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_questions_whether_kafka_can_be_used_end_with_the_reason(secure, mistake):
    """Perhaps not the first one: on a busy machine librdkafka may not have tried by then."""
    settings, expected = wrong(secure)[mistake]
    deadline = time.monotonic() + 60

    def ask_until_told():
        while True:
            question = PresenceQuestion(settings, ["none"])
            while not question.answered:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            question.problem()

    with pytest.raises(AccessRefused, match=expected):
        ask_until_told()


def test_a_leader_is_checked_like_the_first_broker(secure):
    """Metadata may name a host that is not in the certificate."""
    settings = secure.settings("TLS")
    port = int(str(settings["bootstrap.servers"]).split(":")[1])
    BrokerConnection("127.0.0.1", port, security_of(settings)).close()
    with pytest.raises(AccessRefused, match=r"localhost:.* for another host"):
        BrokerConnection("localhost", port, security_of(settings))
    loose = {**settings, "ssl.endpoint.identification.algorithm": "none"}
    BrokerConnection("localhost", port, security_of(loose)).close()


def test_what_is_not_ours_goes_the_plain_way(secure, gather):
    settings = {**secure.settings("SECURE", "OAUTHBEARER"), **TOKEN}
    settings["sasl.oauthbearer.config"] = "principal=ann scope=read"
    assert best_way(settings) is PlainConsumer
    assert len(gather(fetch(settings, "lz4", 1, 0, COUNT))) == COUNT


def test_a_token_that_the_broker_does_not_take_is_named(secure):
    settings = {**secure.settings("SECURE", "OAUTHBEARER"), **TOKEN}
    settings["sasl.oauthbearer.config"] = "principal=ann"  # without a scope
    with pytest.raises(AccessRefused, match=r"SASL.*Check security\.protocol"):
        list(fetch(settings, "lz4", 1, 0, 10, patience=60))


def test_a_broker_that_is_away_is_not_taken_for_one_that_refuses(secure):
    settings = {**secure.settings("SECURE"), "bootstrap.servers": "127.0.0.1:9"}
    check_access(settings)
    with pytest.raises(BrokerSilent):
        list(fetch(settings, "none", 1, 0, 10, patience=0.5))
