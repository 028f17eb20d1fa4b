"""The read lane beside a running engine: what it says is what the engine says."""

import os
import signal
import threading
import time

import pytest

from bench.processes import task_workers
from sde.storage.arena_view import Unreadable
from sde.wire import decode_request
from service.lane.opening import open_lane
from service.settings import Settings

pytestmark = pytest.mark.integration
SECONDS = 60.0


@pytest.fixture
def lane(engine):
    return open_lane(Settings(data_dir=engine.process.folder, shards=5))


def ask(lane, at_least=-1, **message):
    request = decode_request({"id": "q", **message}, "q")
    return lane.reply(request, SECONDS, at_least)


def figures(reply):
    return {each["uid"]: each["tuples"] for each in reply["value"]}


def test_the_lane_says_what_the_engine_says(engine, lane):
    with engine.client() as sde:
        each = sde.create("count_min", dataset="Lane", uid="lane-each", key="k", scope="stream")
        whole = sde.create("hyperloglog", dataset="Lane", uid="lane-whole", key="k")
        sde.send_many("Lane", [(f"s{n % 9}", {"k": f"k{n % 31}"}) for n in range(2000)])
        for question in (
            {"op": "estimate", "uid": "lane-each", "stream": "s3", "query": {"key": "k5"}},
            {"op": "estimate", "uid": "lane-each", "stream": "*", "query": {"type": "total"}},
            {"op": "estimate", "uid": "lane-whole", "query": {}},
            {"op": "describe", "uid": "lane-whole"},
            {"op": "list", "dataset": "Lane"},
            {"op": "export", "uid": "lane-whole"},
        ):
            fields = {name: value for name, value in question.items() if name != "op"}
            expected = sde.submit(question["op"], **fields).result()
            found = ask(lane, expected["batch"], **question)
            differing = {"id", "batch", "request"}
            assert {k: v for k, v in found.items() if k not in differing} == {
                k: v for k, v in expected.items() if k not in differing
            }
        made = sde.create("count_min", dataset="Lane", uid="lane-new", key="k")
        assert ask(lane, op="describe", uid="lane-new", at_least=0)["status"] == "ok"
        for handle in (each, whole, made):
            sde.delete(handle)


def test_no_answer_shows_half_of_a_batch_also_while_workers_are_killed(engine, lane):
    """Two synopses of the same tuples, one of them spread over streams, have the same number."""
    uids = ("half-whole", "half-each")
    stop = threading.Event()
    with engine.client() as sde:
        sde.create("count_min", dataset="Half", uid=uids[0], key="k")
        sde.create("count_min", dataset="Half", uid=uids[1], key="k", scope="stream")

        def send():
            while not stop.is_set():
                sde.send_many("Half", [(f"s{n % 50}", {"k": n % 7}) for n in range(5000)])

        sending = threading.Thread(target=send)
        sending.start()
        seen, killed, deadline = [], 0, time.monotonic() + 300
        try:
            while (len(set(seen)) < 12 or killed < 2) and time.monotonic() < deadline:
                try:
                    told = figures(ask(lane, op="list", dataset="Half"))
                except Unreadable:
                    continue
                assert told[uids[0]] == told[uids[1]]
                seen.append(told[uids[0]])
                if len(set(seen)) in (4, 8) and killed < len(set(seen)) // 4:
                    os.kill(task_workers(engine.process.pid)[0], signal.SIGKILL)
                    killed += 1
        finally:
            stop.set()
            sending.join()
        assert len(set(seen)) >= 12
        assert killed == 2
        assert seen == sorted(seen)
        expected = sde.submit("list", dataset="Half").result()
        assert figures(ask(lane, expected["batch"], op="list", dataset="Half")) == figures(expected)
        for uid in uids:
            sde.delete(uid)
