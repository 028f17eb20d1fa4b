"""An engine whose Kafka is away waits for it; with questions that a test answers."""

import math
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from service.engine import kafka_watch
from service.engine.engine import Engine
from service.engine.kafka_watch import KafkaWatch
from service.engine.progress import ProgressLog
from service.engine.query_keeper import QueryKeeper
from service.kafka.errors import AccessRefused, BrokerSilent, FetchFailed, WriteFailed
from service.kafka.logs import waiting_helps
from service.setting_values import SettingsError
from service.settings import Settings
from service.startup_errors import (
    BrokerError,
    KafkaAway,
    KafkaRefuses,
    StartupError,
    TopicError,
)

AWAY = "Connection refused"
SILENT = "x\nservice.kafka.errors.BrokerSilent: the broker did not tell its offsets"


class Kafka:
    """Answers at once; a clock that a test moves tells when it is asked."""

    def __init__(self, monkeypatch):
        self.problem, self.now, self.asked = "", 100.0, 0
        clock = SimpleNamespace(monotonic=lambda: self.now, time=lambda: self.now, sleep=self.pass_)
        monkeypatch.setattr(kafka_watch, "time", clock)
        monkeypatch.setattr(kafka_watch, "PresenceQuestion", self.ask)

    def ask(self, settings, topics):
        self.asked += 1
        return SimpleNamespace(answered=True, problem=lambda: self.problem)

    def pass_(self, seconds):
        self.now += seconds

    def watched(self, watch, seconds):
        """`look` as the engine calls it, for so long."""
        for _ in range(round(seconds / 0.2)):
            watch.look()
            self.now += 0.2


@pytest.fixture
def kafka(monkeypatch):
    return Kafka(monkeypatch)


@pytest.fixture
def lines():
    return []


def watch_of(lines, broker=None, patience=math.inf):
    settings = Settings(bootstrap_servers="k:9092", kafka_patience_seconds=patience)
    return KafkaWatch(settings, lines.append, broker)


def test_an_outage_is_told_once_and_its_end_once(kafka, lines):
    watch = watch_of(lines)
    kafka.watched(watch, 20)
    assert lines == []
    kafka.problem = AWAY
    kafka.watched(watch, 3600)
    assert watch.outage is not None
    assert watch.outage.reason == AWAY
    assert lines == [f"Kafka at k:9092 does not answer ({AWAY}); waiting until it does"]
    kafka.problem = ""
    kafka.watched(watch, 60)
    assert watch.outage is None
    assert len(lines) == 2
    assert lines[1].startswith("Kafka at k:9092 answers again after 36")


def test_a_kafka_that_is_away_is_asked_less_and_less_often(kafka, lines):
    watch = watch_of(lines)
    kafka.problem = AWAY
    kafka.watched(watch, 10)
    often = kafka.asked
    kafka.watched(watch, 100)
    assert often >= 4
    assert kafka.asked - often <= 21


def test_the_start_waits_until_kafka_answers(kafka, lines):
    watch = watch_of(lines)
    answers = [AWAY] * 7

    def ask(settings, topics):
        problem = answers.pop() if answers else ""
        return SimpleNamespace(answered=True, problem=lambda: problem)

    kafka_watch.PresenceQuestion = ask
    watch.wait()
    assert not answers
    assert watch.outage is None
    assert len(lines) == 2


def test_a_kafka_that_refuses_us_is_not_waited_for(kafka, lines):
    def refuse():
        raise AccessRefused("check sasl.username")

    kafka_watch.PresenceQuestion = lambda *_: SimpleNamespace(answered=True, problem=refuse)
    with pytest.raises(KafkaRefuses, match=r"check sasl\.username"):
        watch_of(lines).wait()
    assert lines == []


def test_a_setting_ends_the_waiting(kafka, lines):
    watch = watch_of(lines, patience=90.0)
    kafka.problem = AWAY
    kafka.watched(watch, 80)
    with pytest.raises(KafkaAway, match=rf"90 s \({AWAY}\); kafka_patience_seconds"):
        kafka.watched(watch, 20)
    assert lines == [f"Kafka at k:9092 does not answer ({AWAY}); waiting for at most 90 s"]


class Broker:
    """An embedded one that has ended and does not start before a test says so."""

    def __init__(self):
        self.tries, self.starts = 0, False

    def ensure_running(self):
        self.tries += 1
        if not self.starts:
            raise BrokerError("It ended at once. Its log ends:\n  a line of it")
        return self.tries == 1


def test_an_embedded_broker_that_does_not_start_is_tried_again(kafka, lines):
    broker = Broker()
    watch = watch_of(lines, broker)
    kafka.watched(watch, 100)
    assert 5 < broker.tries < 30
    broker.starts = True
    kafka.watched(watch, 20)
    assert watch.outage is None
    assert len(lines) == 2
    assert "\n" not in "".join(lines)


@pytest.mark.parametrize(
    ("error", "helps"),
    [
        (BrokerSilent("for 60 s"), True),
        (KafkaException(KafkaError(KafkaError._TRANSPORT)), True),
        (KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)), False),
        (KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)), False),
        (FetchFailed("not allowed"), False),
        (AccessRefused("wrong password"), False),
        (WriteFailed("not allowed"), False),
        (TopicError("has 2 partitions, expected one"), False),
    ],
)
def test_waiting_helps_against_silence_only(error, helps):
    made = StartupError("made of it")
    made.__cause__ = error
    assert waiting_helps(error) is waiting_helps(made) is helps


class Query:
    def __init__(self, failure=""):
        self.isActive, self.failure = not failure, failure
        self.lastProgress = None

    def exception(self):
        return self.failure


class Keeper(QueryKeeper):
    """With queries in place of Spark's: those in `started`."""

    def __init__(self, settings, watch, report):
        progress = ProgressLog(settings.data_dir / "batches.jsonl")
        super().__init__(None, settings, watch, progress, report)
        self.started = []

    def start(self):
        self._stuck = SimpleNamespace(look=lambda: False, begin_anew=lambda: None)
        self._query = Query()
        self.started.append(self._query)


@pytest.fixture
def keeper(kafka, lines, tmp_path):
    settings = Settings(bootstrap_servers="k:9092", data_dir=tmp_path)
    keeper = Keeper(settings, KafkaWatch(settings, lines.append, None), lines.append)
    keeper.start()
    assert keeper.check()
    return keeper


def checked(keeper, kafka, seconds):
    for _ in range(round(seconds / 0.2)):
        keeper.check()
        kafka.now += 0.2


def test_a_query_that_ends_for_want_of_kafka_runs_again_when_it_is_back(keeper, kafka, lines):
    kafka.problem = AWAY
    keeper._query = Query(SILENT)
    checked(keeper, kafka, 600)
    assert (len(keeper.started), keeper.state) == (1, "waiting")
    kafka.problem = ""
    checked(keeper, kafka, 20)
    assert (len(keeper.started), keeper.state) == (2, "running")
    assert keeper.check()
    assert ["does not answer" in line for line in lines] == [True, False]


def test_kafka_may_go_away_while_the_reason_of_another_death_is_looked_for(keeper, kafka):
    """No message may be blamed before it is known what Kafka has."""
    deaths = []

    def on_death(failure):
        deaths.append(failure)
        if kafka.problem:
            raise BrokerSilent("it did not tell the last marker")

    keeper._net.on_death = on_death
    kafka.problem = AWAY
    keeper._query = Query("Python worker exited unexpectedly (crashed)")
    checked(keeper, kafka, 30)
    assert (len(deaths), len(keeper.started)) == (1, 1)
    kafka.problem = ""
    checked(keeper, kafka, 20)
    assert len(keeper.started) == 2


def test_a_step_of_the_start_is_done_again_only_if_waiting_helps(kafka, lines, tmp_path):
    settings = Settings(bootstrap_servers="k:9092", data_dir=tmp_path)
    engine = Engine(settings, lines.append)
    engine._watch = KafkaWatch(settings, lines.append, None)
    failures = [BrokerSilent("for 60 s"), KafkaException(KafkaError(KafkaError._TRANSPORT))]

    def step():
        if failures:
            raise failures.pop()

    engine._patiently(step)
    assert not failures
    failures.append(TopicError("has 2 partitions, expected one"))
    with pytest.raises(TopicError):
        engine._patiently(step)


def test_patience_is_a_positive_number_of_seconds():
    with pytest.raises(SettingsError, match="kafka_patience_seconds"):
        Settings(kafka_patience_seconds=0.0)
