"""What an engine keeps on disk is for its user only."""

import os
import stat
from dataclasses import replace

import pytest

from service.engine.private_folders import make_private
from service.settings import Settings


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def generous():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "sde-data", arena_dir=tmp_path / "fast" / "arena")


def folders(settings):
    data = settings.data_dir
    inside = [data / name for name in ("logs", "broker", "snapshots")]
    return [data, settings.checkpoint, settings.arena_folder, *inside]


def test_new_folders_are_for_their_owner_only(settings):
    assert list(make_private(settings)) == []
    assert [mode(folder) for folder in folders(settings)] == [0o700] * 6


def test_folders_of_an_earlier_version_are_closed(settings):
    for folder in folders(settings):
        folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    elsewhere = replace(settings, bootstrap_servers="there:1", snapshots="s3://bucket/x")
    assert ["not any more" in line for line in make_private(elsewhere)] == [True] * 6
    assert {mode(folder) for folder in folders(settings)} == {0o700}
    assert list(make_private(settings)) == []


def test_folders_that_the_settings_have_elsewhere_are_not_made(settings):
    elsewhere = replace(settings, bootstrap_servers="there:1", snapshots="s3://bucket/x")
    assert list(make_private(elsewhere)) == []
    made = {folder.name for folder in settings.data_dir.iterdir()}
    assert made == {"checkpoint", "logs"}


def test_a_folder_with_other_things_and_no_engine_in_it_is_left_alone_with_a_warning(settings):
    settings.data_dir.mkdir(mode=0o755)
    (settings.data_dir / "thesis.txt").touch()
    (warning,) = make_private(settings)
    assert f"{settings.data_dir} (drwxr-xr-x)" in warning
    assert mode(settings.data_dir) == 0o755
    assert mode(settings.checkpoint) == 0o700


def test_a_folder_for_everybody_is_left_alone_with_a_warning(settings):
    settings.arena_folder.mkdir(parents=True)
    settings.arena_folder.chmod(0o1777)
    (warning,) = make_private(settings)
    assert str(settings.arena_folder) in warning
    assert mode(settings.arena_folder) == 0o1777


def test_a_folder_of_another_user_is_left_alone_with_a_warning(settings, monkeypatch):
    settings.arena_folder.mkdir(parents=True, mode=0o755)
    owner = os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    warnings = list(make_private(settings))
    assert [str(settings.arena_folder) in warning for warning in warnings] == [True]
