"""One engine at a time uses a data folder, also with a Kafka of somebody else."""

import os
from dataclasses import replace

import pytest

from service.broker import folder_lock
from service.engine.engine import Engine
from service.engine.own_folders import lock_folders
from service.settings import Settings
from service.startup_errors import BrokerError


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_lock, "_WAIT_FOR_RUNNING_SERVICE", 0.0)
    return Settings(bootstrap_servers="127.0.0.1:1", data_dir=tmp_path / "data")


def test_a_second_engine_does_not_start_and_names_the_process_of_the_first(settings):
    with lock_folders(settings):
        arena = settings.arena_folder / "shard-0"
        arena.mkdir(parents=True)
        of_the_first = [settings.data_dir / name for name in ("address.json", "status.json")]
        for file in of_the_first:
            file.write_text("{}")
        expected = f"data is in use by the engine of process {os.getpid()}: stop .* data_dir"
        with pytest.raises(BrokerError, match=expected), Engine(settings):
            pass
        assert arena.exists()
        assert all(file.read_text() == "{}" for file in of_the_first)
    lock_folders(settings).close()


def test_two_engines_do_not_share_an_arena(settings, tmp_path):
    one = replace(settings, arena_dir=tmp_path / "arena")
    other = replace(one, data_dir=tmp_path / "other")
    with (
        lock_folders(one),
        pytest.raises(BrokerError, match=r"arena is in use by the engine .* arena_dir"),
    ):
        lock_folders(other)
    with lock_folders(other):
        pass
