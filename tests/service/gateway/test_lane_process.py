"""The gateway's side of the lane: a process that may be slow, die, or answer late."""

import asyncio
import sys
import textwrap

from service.gateway.lane_process import LaneProcess
from service.gateway.position import NOWHERE, Position

CHILD = """
import os, sys
from service.gateway.lane_frames import LaneAnswer, frame, questions_of, size_of

def read(size):
    found = sys.stdin.buffer.read(size)
    return found if len(found) == size else sys.exit()

def say(data):
    os.write(1, data)

say(bytes(4))
while True:
    questions = questions_of(read(size_of(read(4))))
    for each in reversed(questions):
        about = each.message["uid"]
        if about == "die":
            sys.exit(3)
        if about == "hang":
            continue
        reply = b"" if about == "unknown" else b'{"uid": "%s"}' % about.encode()
        if about == "position":
            reply = b'{"batch": %d, "offset": %d}' % (each.batch, each.offsets["t"][1])
        say(frame([LaneAnswer(each.number, reply)]))
"""


def ask(lane, uid, seconds=20.0, at_least=NOWHERE, op="estimate", **fields):
    return lane.reply({"op": op, "id": "q", "uid": uid, **fields}, seconds, at_least)


def with_lane(tmp_path, work):
    async def run():
        lane = LaneProcess(tmp_path, (sys.executable, "-c", textwrap.dedent(CHILD)))
        assert await ask(lane, "u") is None  # it starts
        while await ask(lane, "u") is None:
            await asyncio.sleep(0.01)
        try:
            return await work(lane)
        finally:
            await lane.close()

    return asyncio.run(run())


def test_each_question_gets_its_own_answer_or_none(tmp_path):
    async def work(lane):
        return await asyncio.gather(*(ask(lane, each) for each in ("a", "unknown", "b")))

    assert with_lane(tmp_path, work) == [{"uid": "a"}, None, {"uid": "b"}]


def test_it_learns_what_position_is_needed(tmp_path):
    async def work(lane):
        return await ask(lane, "position", at_least=Position(7, {("t", 1): 9}))

    assert with_lane(tmp_path, work) == {"batch": 7, "offset": 9}


def test_changes_and_questions_to_other_sites_do_not_go_there(tmp_path):
    async def work(lane):
        return [await ask(lane, "die", op="delete"), await ask(lane, "die", sites=["berlin"])]

    assert with_lane(tmp_path, work) == [None, None]


def test_one_that_hangs_is_passed_by_and_one_that_dies_too(tmp_path, caplog):
    async def work(lane):
        assert await ask(lane, "hang", seconds=0.0) is None
        assert await ask(lane, "u") == {"uid": "u"}
        assert await asyncio.gather(ask(lane, "hang"), ask(lane, "die")) == [None, None]
        assert await ask(lane, "u") is None

    with_lane(tmp_path, work)
    assert "the read lane ended" in caplog.text
