"""A checkpoint from a back-up does not lose replies."""

import itertools
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from service.engine.checkpoint_name import checkpoint_name
from service.engine.restored import check_restored
from service.kafka.sink import KafkaSink
from service.kafka.topics import TopicSpec, ensure_topics
from service.kafka.transactions import BatchWriter, Row
from service.settings import Settings, Topics
from service.startup_errors import StartupError

pytestmark = pytest.mark.integration
_numbers = itertools.count()


@pytest.fixture
def settings(broker, tmp_path):
    """An engine that planned batches 0 to 7 and wrote replies in batch 6."""
    name = f"restored-{next(_numbers)}"
    topics = Topics(commits=f"{name}-commits", output=f"{name}-output")
    settings = Settings(
        bootstrap_servers=broker.bootstrap_servers, topics=topics, data_dir=tmp_path
    )
    ensure_topics(settings.kafka_config, [TopicSpec(topics.output), TopicSpec(topics.commits)])
    offsets = settings.checkpoint / "offsets"
    offsets.mkdir(parents=True)
    for batch in range(8):
        (offsets / str(batch)).touch()
    (offsets / ".7.crc").touch()
    write(settings, 6)
    return settings


def write(settings, batch):
    """Whether the replies of a batch are written."""
    kafka, topics = settings.kafka_config, settings.topics
    writer = BatchWriter(kafka, checkpoint_name(settings), topics.commits, 30)
    return writer.write(batch, [Row(topics.output, "k", b"reply")], KafkaSink.too_large)


def set_back(settings, batch):
    for file in (settings.checkpoint / "offsets").glob("[0-9]*"):
        if int(file.name) > batch:
            file.unlink()


def test_a_checkpoint_that_was_not_set_back_starts(settings):
    lines = []
    check_restored(settings, lines.append)
    set_back(settings, 6)  # replies of the last batch may be written before Spark knows
    check_restored(settings, lines.append)
    assert lines == []


def test_a_checkpoint_that_was_set_back_does_not_start(settings):
    set_back(settings, 5)
    with pytest.raises(StartupError, match=r"ends with batch 5.*up to batch 6.*on_restored"):
        check_restored(settings, print)


def test_with_on_restored_continue_its_replies_are_written(settings):
    set_back(settings, 5)
    assert not write(settings, 6)
    lines = []
    going_on = replace(settings, on_restored="continue")
    check_restored(going_on, lines.append)
    assert len(lines) == 1
    (settings.checkpoint / "offsets" / "6").touch()
    assert write(settings, 6)
    check_restored(going_on, lines.append)
    assert len(lines) == 1


def new_engine(broker, tmp_path, **changes):
    """One without a checkpoint, on topics that another engine has used, or not."""
    name = f"restored-{next(_numbers)}"
    topics = Topics(commits=f"{name}-commits", union=f"{name}-union")
    settings = Settings(
        bootstrap_servers=broker.bootstrap_servers, topics=topics, data_dir=tmp_path, **changes
    )
    ensure_topics(settings.kafka_config, [TopicSpec(topics.union), TopicSpec(topics.commits)])
    return settings


def use(settings):
    producer = Producer(settings.kafka_config)
    producer.produce(settings.topics.union, b"a tick of another engine")
    assert producer.flush(30) == 0


def test_a_new_engine_starts_on_topics_that_nobody_used(broker, tmp_path):
    lines = []
    check_restored(new_engine(broker, tmp_path), lines.append)
    assert lines == []


def test_a_new_engine_does_not_start_on_topics_of_another_unless_it_is_told_to(broker, tmp_path):
    settings = new_engine(broker, tmp_path)
    use(settings)
    with pytest.raises(StartupError, match="both would answer every request"):
        check_restored(settings, lambda line: None)
    lines = []
    check_restored(replace(settings, on_restored="continue"), lines.append)
    assert "answered a second time" in lines[0]
