"""What outlives a batch on a real engine: windows, watches, snapshots; rescaling."""

import base64
import itertools
import json
import subprocess
import sys
import time

import numpy as np
import pytest
from integration.waiting import wait_for_tuples

from synopses import CountMin, HyperLogLog, Items

pytestmark = pytest.mark.integration

START = 1_700_000_000_000
SLIDE = 10_000


@pytest.fixture(scope="module")
def process(engine):
    return engine.process


@pytest.fixture(scope="module")
def sde(engine):
    with engine.client() as client:
        yield client


def rows(count, seed):
    rng = np.random.default_rng(seed)
    times = START + np.sort(rng.integers(0, 60_000, count))
    keys, streams = rng.zipf(1.4, count) % 100, rng.integers(0, 20, count)
    return [
        (f"s{s}", {"k": int(k)}, int(t))
        for s, k, t in zip(streams.tolist(), keys.tolist(), times.tolist(), strict=True)
    ]


DATA = rows(5000, 1)


@pytest.fixture(scope="module")
def filled(sde):
    """Synopses with all the tuples, and a watch that runs."""
    sde.create("count_min", dataset="d", uid="plain", key="k")
    sde.create("hyperloglog", dataset="d", uid="each", key="k", scope="stream")
    # All is sent at once, so one partition may be read before the others are there.
    window = {"type": "sliding", "size": "20s", "slide": "10s", "keep": "5m", "lateness": "1m"}
    sde.create("count_min", dataset="d", uid="windowed", key="k", window=window)
    sde.send_many("d", DATA)
    wait_for_tuples(sde, "plain", len(DATA))
    with sde.watch("plain", "total", every="1s", timeout=120) as answers:
        yield answers


def states(sde):
    """Everything that can be asked, as bytes; asked at once, which takes few batches."""
    asked = {"plain": sde.submit("export", uid="plain")}
    asked |= {s: sde.submit("export", uid="each", stream=s) for s in ("s0", "s7", "s19")}
    asked |= {end: sde.submit("export", uid="windowed", end=end) for end in window_ends()}
    return {name: base64.b64decode(one.result()["value"]) for name, one in asked.items()}


def window_ends():
    return range(START + SLIDE, START + 60_000 + SLIDE, SLIDE)


def expected():
    found = {"plain": built(CountMin(), DATA)}
    for stream in ("s0", "s7", "s19"):
        found[stream] = built(HyperLogLog(), [r for r in DATA if r[0] == stream])
    for end in window_ends():
        inside = [r for r in DATA if end - 20_000 <= r[2] < end]
        found[end] = built(CountMin(), inside)
    return found


def built(synopsis, tuples):
    if tuples:
        synopsis.add(Items.of([values["k"] for _, values, _ in tuples]))
    return synopsis.to_bytes()


def test_states_and_windows_equal_a_recomputation(sde, filled):
    assert states(sde) == expected()


def test_a_watch_answers_by_the_clock_without_data(filled):
    numbers = [answer.number for answer in itertools.islice(filled, 3)]
    assert numbers == list(range(numbers[0], numbers[0] + 3))


def test_all_streams_answer_one_question_and_the_watch_is_listed(sde, filled):
    answers = {answer.stream: answer for answer in sde.estimate_streams("each")}
    assert answers.keys() == {stream for stream, _, _ in DATA}
    for stream in ("s0", "s7", "s19"):
        alone = sde.estimate("each", stream=stream)
        assert (answers[stream].value, answers[stream].tuples) == (alone.value, alone.tuples)
    largest = max(answers.values(), key=lambda answer: answer.value)
    assert sde.estimate_streams("each", top=1)[0].value == largest.value
    assert sum(each.tuples for each in sde.streams("each")) == len(DATA)
    assert [each.watch for each in sde.watches("plain")] == [filled.id]


def test_a_snapshot_comes_back_under_another_uid(sde, filled):
    version = sde.snapshot("each")
    assert sde.restore("each", version, as_uid="again").uid == "again"
    assert sde.export("again", stream="s7") == expected()["s7"]
    assert [s.version for s in sde.snapshots("each")] == [version]
    sde.delete("again")


def test_rescaling_changes_no_answer(sde, process, filled):
    command = [sys.executable, "-m", "clients.cli", "rescale", "--partitions", "3"]
    done = subprocess.run(
        [*command, "--data-dir", str(process.folder)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert states(sde) == expected()
    metadata = sorted((process.folder / "checkpoint" / "offsets").glob("[0-9]*"), key=by_number)
    conf = json.loads(metadata[-1].read_text().splitlines()[1])["conf"]
    assert conf["spark.sql.shuffle.partitions"] == "3"


def by_number(path):
    return int(path.name)


def test_what_has_outlived_its_time_is_deleted(sde, filled):
    sde.create("count_min", dataset="d", uid="short", key="k", ttl="2s")
    deadline = time.monotonic() + 120
    while any(each.uid == "short" for each in sde.list("d")):
        assert time.monotonic() < deadline
        time.sleep(0.5)
