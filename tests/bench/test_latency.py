import pytest

from bench.batches import Batch, read_batches
from bench.latency.asker import whole_response
from bench.latency.lane import LaneFigures
from bench.latency.questions import Asked, Percentiles, where_time_goes
from bench.latency.report import LANE_IDLE, LANE_LOADED, Latencies, write
from bench.latency.sent_again import Repeater, record_batches, send
from bench.throughput.topics import make_topic
from service.kafka.fetch import fetch


def asked(*seconds):
    return [Asked(100.0, 100.0 + each, 7) for each in seconds]


def test_percentiles_are_of_the_seconds_between_question_and_answer():
    found = Percentiles.of(asked(*(n / 100 for n in range(1, 102))))
    assert (found.p50, found.p95, found.p99) == pytest.approx((0.51, 0.96, 1.0))


def test_the_stages_of_an_answer_add_up_to_its_time():
    batch = Batch(7, 100.2, {"addBatch": 0.5, "walCommit": 0.1, "triggerExecution": 0.6}, {})
    stages = where_time_goes(asked(0.9), [batch])
    assert list(stages) == [
        "until the batch begins",
        "addBatch",
        "walCommit",
        "from the batch's end to the answer",
    ]
    assert sum(stages.values()) == pytest.approx(0.9)


def test_answers_of_batches_nobody_noted_have_no_stages():
    assert where_time_goes(asked(0.9), []) == {}


def test_a_half_written_line_of_the_engines_log_is_left_for_later(tmp_path):
    (tmp_path / "logs").mkdir()
    line = (
        '{"batch": 3, "at": "1970-01-01T00:00:02.500Z", "milliseconds": {"triggerExecution": 500},'
        ' "offsets": {"t": {"0": 4}}}\n'
    )
    (tmp_path / "logs" / "batches.jsonl").write_text(line + line[:30])
    (batch,) = read_batches(tmp_path)
    assert (batch.number, batch.began, batch.ended) == (3, 2.5, 3.0)
    assert batch.offsets == {("t", 0): 4}


def test_slow_answers_and_a_slow_start_miss_their_goals(tmp_path):
    settings = {
        "idle": asked(0.5),
        "create to first answer, idle": asked(2.0),
        "half load": asked(2.5),
        LANE_IDLE: asked(0.009),
        LANE_LOADED: asked(0.07),
    }
    lane = LaneFigures(single=2100, batched=19_000, alone=1e6, asked_beside=0.96e6)
    stages = {"idle": {"addBatch": 0.1}}
    starts = [20.0, 30.0, 31.0]
    found = Latencies(2e6, 1e6, {"half load": 5e5}, settings, stages, starts, lane)
    of_the_lane = [True, False, True, False, True]
    assert [goal.met for goal in found.goals()] == [True, False, False, *of_the_lane]
    write(found, {"machine": "m"}, tmp_path)
    written = (tmp_path / "latency.md").read_text()
    assert "| half load | 1 |" in written
    assert "| lane over HTTP, idle | 1 | 9.0 ms |" in written


def test_a_response_is_whole_when_its_length_has_come():
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    assert whole_response(head[:-1]) is None
    assert whole_response(head + b"1234") is None
    assert whole_response(head + b"12345") == b"12345"
    with pytest.raises(ValueError, match="429"):
        whole_response(b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")


def test_messages_are_sent_again_as_the_broker_keeps_them(broker):
    servers, topic = broker.bootstrap_servers, "sent-again"
    for name in (topic, f"{topic}-once"):
        make_topic(servers, name)
    values = [[f"{partition}-{n}".encode() for n in range(1000)] for partition in range(2)]
    send(servers, f"{topic}-once", [[{"value": value} for value in own] for own in values])
    parts = [record_batches(servers, f"{topic}-once", partition, 1000) for partition in range(2)]
    with Repeater(servers, topic) as repeater:
        sent = sum(repeater.send(batches) for batches in [*zip(*parts, strict=True)] * 3)
    assert sent == 6000
    for partition, own in enumerate(values):
        settings = {"bootstrap.servers": servers}
        (messages,) = fetch(settings, topic, partition, 0, 3000)
        spans = zip(messages.starts, messages.ends, strict=True)
        assert [messages.buffer[a:b].tobytes() for a, b in spans] == own * 3
