"""A source that has nothing to tell waits for messages instead of being asked again and again."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from service.kafka.ends_file import EndsFile
from service.kafka.offsets import OffsetsJson
from service.kafka.source import KafkaReader, ReaderOptions

pytestmark = pytest.mark.integration
FOR_EVER = 3600.0
SOON, A_WHILE = 60.0, 1.0  # seconds


class Reader(KafkaReader):
    def blocks(self, messages, source):
        raise NotImplementedError


@pytest.fixture
def asking():
    """Asks a reader in a thread: it may be waiting."""
    with ThreadPoolExecutor() as threads:

        def ask(reader: KafkaReader, start: OffsetsJson) -> Future[OffsetsJson]:
            return threads.submit(reader.latestOffset, start, ReadAllAvailable())

        yield ask


@pytest.fixture
def idle(settings, make_topic, tmp_path):
    """A reader of a topic, beside another one, that has told that there is nothing."""
    topic, beside = make_topic(2), make_topic()
    options = ReaderOptions(
        settings,
        [topic],
        wait_seconds=FOR_EVER,
        beside=(beside,),
        stop_file=str(tmp_path / "stop"),
        ends_file=str(tmp_path / "ends.json"),
    )
    reader = Reader(ReaderOptions.from_json(options.to_json()))
    start = reader.initialOffset()
    for _ in range(2):
        assert reader.latestOffset(start, ReadAllAvailable()) is start
    return reader, start, topic, beside


def assert_waits(asked: Future[OffsetsJson]) -> None:
    with pytest.raises(TimeoutError):
        asked.result(A_WHILE)


def test_it_waits_until_a_message_comes_and_tells_of_it_when_it_is_asked_again(
    idle, asking, produce
):
    reader, start, topic, _ = idle
    asked = asking(reader, start)
    assert_waits(asked)
    produce(topic, [b"a"], 1)
    assert asked.result(SOON) is start
    assert asking(reader, start).result(SOON) == {topic: {"0": 0, "1": 1}}


def test_it_waits_for_messages_to_the_other_source_too_and_lets_it_be_asked(idle, asking, produce):
    reader, start, _, beside = idle
    for _ in range(3):
        asked = asking(reader, start)
        assert_waits(asked)
        produce(beside, [b"request"])
        assert asked.result(SOON) is start
        # The other source is asked now, and tells of it: nobody may wait in this turn, nor in the
        # next one, in which it may tell of what came just before our look.
        for _ in range(2):
            assert asking(reader, start).result(SOON) is start


def test_what_came_to_the_other_source_before_it_was_asked_keeps_it_from_waiting(
    idle, asking, produce
):
    reader, start, _, beside = idle
    produce(beside, [b"request"])
    for _ in range(2):
        assert asking(reader, start).result(SOON) is start
    produce(beside, [])
    assert_waits(asked := asking(reader, start))
    produce(beside, [b"end"])
    asked.result(SOON)


def test_files_that_steer_batches_end_the_wait(idle, asking, produce, tmp_path):
    reader, start, topic, _ = idle
    asked = asking(reader, start)
    assert_waits(asked)
    (tmp_path / "stop").touch()
    produce(topic, [b"a"])
    assert asked.result(SOON) is start
    assert asking(reader, start).result(SOON) is start
    (tmp_path / "stop").unlink()
    EndsFile(tmp_path / "ends.json").write({(topic, 0): 0})
    assert asking(reader, start).result(SOON) is start
    (tmp_path / "ends.json").unlink()
    assert asking(reader, start).result(SOON) == {topic: {"0": 1, "1": 0}}
