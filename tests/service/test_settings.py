"""Settings come from a file, from variables and from flags, and mistakes are named."""

from pathlib import Path

import pytest

from service.setting_values import SettingsError
from service.settings import Settings, Topics, load


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
        ("plugin_seconds = 3", r"'plugin_seconds' stands outside .* in \[limits\]$"),
        ("shard = 1", r"unknown setting 'shard': .* Did you mean shards\?$"),
        ("shards = 0", "shards=0"),
        ('shards = "many"', "shards='many': expected a whole number$"),
        ("shards = 2.5", "shards=2.5: expected a whole number$"),
        ('batch_seconds = "two"', "batch_seconds='two': expected a number$"),
        ("topics = 1", r"topics=1: expected a table \[topics\]"),
        ("metrics = 1", r"metrics=1: expected a table \[metrics\]"),
        (f"[metrics]\nwatches = {['w'] * 101}", "metrics.watches: 101 ids: expected at most 100$"),
        ("peers = 1", r"peers=1: expected a table \[peers\]"),
        (
            "[limits]\nmax_synopsis = 1",
            r"'max_synopsis' in the table \[limits\]: .* Did you mean max_synopses\?$",
        ),
        ("[limits]\nmax_bytes = 'all'", r"limits\.max_bytes='all': expected a whole number$"),
        (
            "[topics]\nrequest = 'x'",
            r"'request' in the table \[topics\]: .* Did you mean requests\?$",
        ),
        ('on_lost = "ignore"', "on_lost"),
        ("batch_seconds = 0", "batch_seconds"),
        ("stuck_seconds = 0", "stuck_seconds"),
        ("= 1", "sde.toml"),
        ('bootstrap_servers = "kafka-1:9092, kafka-2"', "'kafka-2': expected HOST:PORT"),
        ('[kafka]\n"security.protokol" = "SSL"', "kafka: .*security.protokol"),
        ('[kafka]\n"linger.ms" = 9e9', "kafka: .*outside allowed range"),
    ],
)
def test_mistakes_are_named(tmp_path, text, named):
    with pytest.raises(SettingsError, match=named):
        from_file(tmp_path, text)


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        ({"output": "sde-data"}, r"topics\.data and topics\.output are both 'sde-data'"),
        ({"data": ("a", "b", "a")}, r"topics\.data and topics\.data are both 'a'"),
        ({"union": "x", "logging": "x"}, r"topics\.union and topics\.logging are both 'x'"),
    ],
)
def test_no_topic_has_two_roles(names, roles):
    with pytest.raises(SettingsError, match=roles):
        Topics(**names)


@pytest.mark.parametrize(
    "servers",
    ["", "localhost:9092", "127.0.0.1:9092,127.8.8.8:1", "[::1]:9092", "PLAINTEXT://LocalHost:1"],
)
def test_plug_ins_are_open_with_a_broker_on_the_loopback_interface(servers):
    assert Settings(plugins="open", bootstrap_servers=servers).trust.mode == "open"


@pytest.mark.parametrize(
    "servers",
    [
        "localhost.example.com:9092",
        "127.evil.example:9092",
        "127.0.0.1.example:9092",
        "localhost:9092,kafka.far.away:9092",
        "[::1].example:9092:1",
        "[2001:db8::1]:9092",
        "PLAINTEXT://kafka.far.away:9092",
        "localhost://kafka.far.away:9092",
        "10.0.0.1:9092",
    ],
)
def test_plug_ins_are_not_open_with_a_broker_that_others_may_reach(servers):
    with pytest.raises(SettingsError, match="loopback"):
        Settings(plugins="open", bootstrap_servers=servers)


@pytest.mark.parametrize("name", ["bootstrap.servers", "metadata.broker.list"])
@pytest.mark.parametrize("servers", ["", "localhost:9092"])
def test_what_kafka_settings_override_counts(name, servers):
    """Clients connect to what is in them."""
    far = {name: "kafka.far.away:9092"}
    with pytest.raises(SettingsError, match=r"kafka\.far\.away"):
        Settings(plugins="open", bootstrap_servers=servers, kafka=far)
    assert Settings(bootstrap_servers=servers, kafka=far).trust.mode == "signed"
