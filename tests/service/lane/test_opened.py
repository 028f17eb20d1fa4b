"""The lane that a data folder names: there, somewhere else, or of an engine that began anew."""

import pytest

from sde.storage.arena_view import Unreadable
from service.engine.address_file import address_path, write_address
from service.gateway.lane_frames import LaneQuestion
from service.lane.opened import OpenedLane
from service.settings import Settings

LIST = {"op": "list", "id": "q"}


def ask(lane, **needed):
    with lane.turn() as answering:
        return answering(LaneQuestion(0, 1.0, LIST, **needed))


def test_without_an_engine_there_is_no_lane(tmp_path):
    with pytest.raises(Unreadable, match=r"address\.json"):
        ask(OpenedLane(tmp_path))
    address_path(tmp_path).write_text('{"bootstrap_servers": "k:9092", "pid": 1, "topics": 7}')
    with pytest.raises(Unreadable, match=r"address\.json"):
        ask(OpenedLane(tmp_path))


def test_an_engine_whose_tasks_run_elsewhere_has_no_lane(tmp_path):
    write_address(Settings(data_dir=tmp_path, master="spark://elsewhere:7077"))
    with pytest.raises(Unreadable, match="other machines"):
        ask(OpenedLane(tmp_path))


def test_an_engine_that_starts_again_is_looked_at_anew(tmp_path):
    lane = OpenedLane(tmp_path)
    write_address(Settings(data_dir=tmp_path, master="spark://elsewhere:7077"))
    with pytest.raises(Unreadable, match="other machines"):
        ask(lane)
    write_address(Settings(data_dir=tmp_path))
    with pytest.raises(Unreadable, match="no engine has worked here yet"):
        ask(lane)
    address_path(tmp_path).unlink()
    with pytest.raises(Unreadable, match=r"address\.json"):
        ask(lane)


def test_a_batch_that_was_never_planned_is_not_waited_for(tmp_path):
    write_address(Settings(data_dir=tmp_path))
    commits = tmp_path / "checkpoint" / "commits"
    commits.mkdir(parents=True)
    (commits / "7").write_text("v1\n{}")
    with pytest.raises(Unreadable, match="batch 9 is of another checkpoint"):
        ask(OpenedLane(tmp_path), batch=9)
