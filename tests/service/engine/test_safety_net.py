"""The safety net over a checkpoint on disk, with a query that only plans, dies and commits."""

import json

import pytest

from sde.records.position import Position
from service.engine import safety_net
from service.engine.batch_log import BatchLog
from service.engine.passed_over import PassedOver
from service.engine.safety_net import SafetyNet
from service.kafka.ends_file import EndsFile
from service.kafka.offsets import from_json, to_json
from service.settings import Settings
from service.startup_errors import StartupError

DATA, REQUESTS, UNION = "sde-data", "sde-requests", "sde-union"
CRASH = "Job aborted: Python worker exited unexpectedly (crashed)"


class Query:
    """Writes Spark's files as Spark does; a batch with one of the messages `kills` dies."""

    def __init__(self, folder, kills=(), failure=CRASH):
        self.settings = Settings(data_dir=folder)
        self.checkpoint = folder / "checkpoint"
        for name in ("offsets", "commits", "state/0/0"):
            (self.checkpoint / name).mkdir(parents=True)
        self.kills, self.failure = set(kills), failure
        self.logs = {(DATA, 0): 0, (DATA, 1): 0, (REQUESTS, 0): 0, (UNION, 0): 0}
        self.read, self.lines, self.written = [], [], -1
        self.batch_of = {}
        self.dies_without_messages = False
        self.start_net()
        self.run()  # so that there is a batch with the first offsets

    def start_net(self):
        """As a new process does."""
        self.net = SafetyNet(self.settings, self.settings.data_dir / "stop", self.lines.append)
        self.net._is_written = lambda batch: batch <= self.written
        self.log = BatchLog(self.checkpoint)

    def send(self, topic, count, partition=0):
        self.logs[topic, partition] += count

    def run(self):
        """The next batch; whether it passed."""
        batch = self.log.pending()
        if batch is None:
            batch = self.log.done() + 1
            known = self.log.ends(batch - 1)
            steered = EndsFile(self.net.steering().ends_file).read()
            ends = self.logs if steered is None else {**known, **steered}
            requests = {k: v for k, v in ends.items() if k[0] != DATA}
            data = {k: v for k, v in ends.items() if k[0] == DATA}
            lines = ["v1", "{}", *(json.dumps(to_json(part)) for part in (requests, data))]
            (self.checkpoint / "offsets" / str(batch)).write_text("\n".join(lines))
        starts, ends = self.log.ends(batch - 1), self.log.ends(batch)
        part = [
            Position(*key, offset)
            for key, end in ends.items()
            for offset in range(starts.get(key, 0), end)
        ]
        (self.checkpoint / "state" / "0" / "0" / f"{batch + 1}.changelog").write_text(str(part))
        left_out = self.net.steering().passed_over
        if self.kills & (set(part) - set(left_out)) or self.dies_without_messages:
            return False
        self.read += [(message, message in left_out) for message in part]
        self.batch_of |= dict.fromkeys(part, batch)
        (self.checkpoint / "commits" / str(batch)).write_text("v1\n{}")
        return True

    def work(self):
        """Until nothing is left to be read, as the engine does."""
        for _ in range(1000):
            if self.run():
                self.net.follow()
            else:
                self.net.on_death(self.failure)
            if not self.net.busy and self.log.ends(self.log.done()) == self.logs:
                return
        raise AssertionError("it does not come to an end")


@pytest.fixture
def query(tmp_path, monkeypatch):
    monkeypatch.setattr(safety_net, "first_that_reads", lambda kafka, asked: asked.start + 1)

    def make(*kills, **more):
        query = Query(tmp_path, kills, **more)
        query.send(UNION, 3)
        query.send(REQUESTS, 5)
        query.send(DATA, 300)
        query.send(DATA, 200, partition=1)
        return query

    return make


def test_the_messages_that_kill_are_left_out_and_all_others_read_once(query):
    kills = [Position(DATA, 0, 77), Position(REQUESTS, 0, 3), Position(UNION, 0, 0)]
    batches = query(*kills)
    batches.work()
    left_out = [message for message, is_left_out in batches.read if is_left_out]
    assert sorted(left_out) == sorted(kills)
    assert len(batches.read) == len(set(batches.read)) == 508
    assert sum("PASSED OVER" in line for line in batches.lines) == 3
    assert batches.net.passed_over == len(PassedOver(batches.checkpoint)) == 3


def test_tuples_come_after_creates_and_before_the_first_request_that_reads(query):
    batches = query(Position(UNION, 0, 2))
    batches.work()
    tuples = [batch for message, batch in batches.batch_of.items() if message.topic == DATA]
    create, *reading = [batches.batch_of[Position(REQUESTS, 0, offset)] for offset in range(5)]
    assert create <= min(tuples) < max(tuples) <= min(reading)


def test_a_batch_that_died_by_accident_runs_again_as_it_was(query):
    batches = query(Position(DATA, 0, 5))
    assert not batches.run()
    planned = batches.log.ends(1)
    batches.net.on_death(CRASH)
    batches.kills.clear()
    assert batches.run()
    batches.net.follow()
    assert (batches.log.done(), batches.log.ends(1)) == (1, planned)
    assert batches.net.passed_over == 0


def test_state_that_tasks_of_a_dead_batch_saved_is_gone_before_it_is_planned_anew(query):
    batches = query(Position(DATA, 0, 5))
    for _ in range(2):
        batches.run()
        batches.net.on_death(CRASH)
    assert batches.log.pending() is None
    assert [path.name for path in batches.checkpoint.glob("state/0/0/*")] == ["1.changelog"]


def test_a_batch_whose_replies_are_written_is_never_cut(query):
    batches = query(Position(DATA, 0, 5))
    batches.written = 1
    batches.run()
    batches.net.on_death(CRASH)
    batches.run()
    with pytest.raises(StartupError):
        batches.net.on_death(CRASH)
    assert batches.log.pending() == 1


def test_a_part_whose_replies_are_written_runs_again_as_it_was(query):
    batches = query(Position(DATA, 0, 200))
    for _ in range(2):
        batches.run()
        batches.net.on_death(CRASH)
    batches.dies_without_messages = True
    batches.run()
    planned, batches.written = batches.log.ends(1), 1
    batches.net.on_death(CRASH)
    batches.dies_without_messages = False
    assert (batches.log.pending(), batches.log.ends(1)) == (1, planned)
    batches.work()
    assert [m for m, is_left_out in batches.read if is_left_out] == [Position(DATA, 0, 200)]


def test_after_a_restart_in_the_middle_the_message_is_still_found(query):
    batches = query(Position(DATA, 1, 150))
    for _ in range(6):
        if not batches.run():
            batches.net.on_death(CRASH)
        else:
            batches.net.follow()
    assert batches.net.busy
    batches.start_net()
    assert not batches.net.busy
    batches.work()
    assert len(batches.read) == len(set(batches.read)) == 508
    assert [m for m, is_left_out in batches.read if is_left_out] == [Position(DATA, 1, 150)]


@pytest.mark.parametrize(
    "failure",
    [
        "x\nservice.kafka.errors.OffsetsLost: retention took them away",
        "x\nsde.storage.arena.ArenaError: the disk is full",
        "x\nsde.shard.keeper.StateFormatError: made with shards=3",
    ],
)
def test_what_comes_from_outside_ends_the_engine_at_once(query, failure):
    batches = query(Position(DATA, 0, 5), failure=failure)
    assert not batches.run()
    with pytest.raises(StartupError, match=r"away|full|shards=3"):
        batches.net.on_death(failure)


def test_a_batch_that_dies_without_its_message_ends_the_engine(query):
    batches = query()
    batches.dies_without_messages = True
    with pytest.raises(StartupError):
        batches.work()
    assert batches.net.passed_over == 1


def test_more_than_three_in_a_row_are_not_passed_over(query):
    batches = query(*(Position(DATA, 0, 10 + offset) for offset in range(4)))
    with pytest.raises(StartupError, match="3 messages were passed over"):
        batches.work()
    assert batches.net.passed_over == 3


def test_a_query_that_ends_without_a_batch_is_started_again_once(query):
    batches = query()
    batches.net.on_death("planning failed")
    with pytest.raises(StartupError, match="planning failed"):
        batches.net.on_death("planning failed")


def test_the_ends_of_a_batch_are_those_of_both_sources(tmp_path):
    batches = Query(tmp_path)
    batches.send(DATA, 3)
    batches.run()
    assert to_json(batches.log.ends(1)) == {
        DATA: {"0": 3, "1": 0},
        REQUESTS: {"0": 0},
        UNION: {"0": 0},
    }
    assert from_json(to_json(batches.log.ends(1))) == batches.logs


def test_a_line_that_a_crash_left_half_written_does_not_count(tmp_path):
    PassedOver(tmp_path).add(3, Position("t", 0, 5))
    with next(tmp_path.iterdir()).open("a") as file:
        file.write('{"batch": 4, "top')
    listed = PassedOver(tmp_path)
    assert listed.since(0) == listed.since(3) == [Position("t", 0, 5)]
    assert listed.since(4) == []
    listed.add(4, Position("t", 0, 6))
    assert PassedOver(tmp_path).since(0) == [Position("t", 0, 5), Position("t", 0, 6)]
