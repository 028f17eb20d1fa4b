"""Source and sink in a real query on real Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from service.kafka.fetch import fetch
from service.kafka.logs import LogEnds
from service.kafka.sink import SinkOptions
from service.kafka.source import ReaderOptions
from service.kafka.topics import TopicSpec, ensure_topics

pytestmark = pytest.mark.integration
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PATIENCE = 300


@pytest.fixture
def start(tmp_path):
    """Starts the query in a process group of its own; what is left at the end is killed."""
    started = []

    def run(reader, sink):
        path = os.pathsep.join([str(ROOT), str(HERE)])
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "echo_query", reader.to_json(), sink.to_json()]
                + [str(tmp_path / name) for name in ("checkpoint", "stop", "crash")],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable},
                start_new_session=True,
            )
        )
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_every_message_arrives_once_though_the_query_is_killed(
    settings, make_topic, produce, gather, start, tmp_path
):
    topic = make_topic(2)
    out = f"{topic}-out"
    ensure_topics(settings, [TopicSpec(out)])
    count = 3000
    for p in range(2):
        produce(topic, [b"%d:%d" % (p, i) for i in range(count)], p)
    reader = ReaderOptions(
        settings,
        [topic],
        stop_file=str(tmp_path / "stop"),
        target_seconds=0.5,
        largest_messages=500,  # at least a dozen batches, whatever the machine
    )
    sink = SinkOptions(settings, query=topic, markers=f"{topic}-markers")

    def replies():
        """Not offsets: each transaction's own record takes one too."""
        end = LogEnds(settings, [out], 30).ends()[out, 0]
        return [payload for _, _, payload in gather(fetch(settings, out, 0, 0, end))]

    def wait_for(messages, process):
        deadline = time.monotonic() + PATIENCE
        while len(replies()) < messages:
            assert process.poll() is None, "the query ended"
            assert time.monotonic() < deadline
            time.sleep(0.1)

    assert start(reader, sink).wait(PATIENCE) == -signal.SIGKILL  # after a transaction
    second = start(reader, sink)
    wait_for(2 * count, second)
    (tmp_path / "stop").touch()
    assert second.wait(PATIENCE) == 0

    found = Counter(replies())
    expected = Counter(b"%d:%d" % (p, i) for p in range(2) for i in range(count))
    assert not expected - found, "replies are missing"
    assert not found - expected, "replies are there more than once"
