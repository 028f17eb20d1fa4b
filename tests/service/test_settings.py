"""Settings come from a file, from variables and from flags, and mistakes are named."""

from pathlib import Path

import pytest

from service.settings import Settings, SettingsError, load


def from_file(tmp_path, text):
    path = tmp_path / "sde.toml"
    path.write_text(text)
    return load(path, {}, {})


def test_later_sources_win(tmp_path):
    path = tmp_path / "sde.toml"
    path.write_text('site = "file"\nshards = 3\nbatch_seconds = 2')
    settings = load(path, {"site": "flag"}, {"SDE_SHARDS": "5", "SDE_SITE": "variable"})
    assert (settings.site, settings.shards, settings.batch_seconds) == ("flag", 5, 2.0)


def test_limits_and_topics_are_tables(tmp_path):
    settings = from_file(
        tmp_path,
        '[limits]\nmax_synopses = 7\n[topics]\ndata = ["a", "b"]\nlogging = "log"',
    )
    assert settings.limits.max_synopses == 7
    assert settings.limits.max_panes == Settings().limits.max_panes
    assert (settings.topics.data, settings.topics.logging) == (("a", "b"), "log")


def test_snapshots_are_kept_next_to_the_checkpoint_unless_told_otherwise():
    assert load(None, {"data_dir": "/d"}, {}).snapshots_root == "/d/snapshots"
    assert load(None, {"snapshots": "s3://bucket/x"}, {}).snapshots_root == "s3://bucket/x"
    assert load(None, {"data_dir": "/d"}, {}).arena_folder == Path("/d/arena")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("nope = 1", "nope"),
        ("shards = 0", "shards=0"),
        ('shards = "many"', "shards='many'"),
        ("[limits]\nmax_nothing = 1", "limits"),
        ("[topics]\nnope = 'x'", "topics"),
        ('on_lost = "ignore"', "on_lost"),
        ("batch_seconds = 0", "batch_seconds"),
        ("= 1", "sde.toml"),
    ],
)
def test_mistakes_are_named(tmp_path, text, named):
    with pytest.raises(SettingsError, match=named):
        from_file(tmp_path, text)
