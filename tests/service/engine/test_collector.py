"""The engine's metrics, from what Spark reports and batches hand over."""

import os

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sde.records.figures import (
    WATCH_ANSWER,
    Committed,
    DatasetFigures,
    EngineFigures,
    Reading,
    ShardFigures,
    SiteFigures,
    Taken,
    Watched,
    Written,
    pack_figures,
)
from sde.wire.status import METRICS_FILE
from service.engine.collector import EngineCollector
from service.engine.metrics_file import MetricsFile
from service.kafka.handover import Handover
from service.metrics import declared as m
from service.metrics.metric_set import MetricSet
from service.settings import Settings

NOW = 1_800_000_000.0
MS = 1000


@pytest.fixture
def collected():
    return Collected()


class Collected:
    def __init__(self):
        self.metrics = MetricSet(m.ENGINE)
        self.collector = EngineCollector(self.metrics)

    def samples(self, left=None):
        self.collector.settle(NOW, left or {})
        return read(self.metrics.exposition())


def read(exposition):
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(exposition.decode())
        for sample in family.samples
    }


def reading(topic="t", partition=0, newest=NOW, **more):
    return Reading(topic=topic, partition=partition, newest=int(newest * MS), **more)


def shard(number, datasets=None, engine=None, **more):
    figures = {"rebuilt": False, "log_bytes": 0, "snapshot_bytes": 0, "left_out": {}, **more}
    return ShardFigures(shard=number, datasets=datasets or {}, engine=engine, **figures)


def test_a_batch_is_counted_with_its_phases(collected):
    milliseconds = {"addBatch": 900, "triggerExecution": 1000, "a new phase of Spark": 1}
    at = "2026-01-01T00:00:00.500Z"
    report = {"batchId": 7, "timestamp": at, "durationMs": milliseconds, "sources": []}
    collected.collector.on_batch(report)
    found = collected.samples()
    assert found["sde_batches_total",] == 1
    assert found["sde_last_batch_timestamp_seconds",] == 1767225600.5
    assert found["sde_batch_seconds_sum", "triggerExecution"] == 1
    assert not [key for key in found if "a new phase of Spark" in key]


def test_tuples_are_counted_by_format_and_a_batch_that_comes_again_is_not(collected):
    taken = [
        Taken(form="json", messages=2, tuples=5, size=100),
        Taken(form="arrow", messages=1, tuples=9, size=50),
    ]
    for batch in (3, 3, 4):
        collected.collector.on_figures(batch, [reading(taken=taken), Committed(seconds=0.02)])
    found = collected.samples()
    assert found["sde_tuples_total", "json"] == 10
    assert found["sde_tuples_total", "arrow"] == 18
    assert found["sde_messages_total", "json"] == 4
    assert found["sde_tuple_bytes_total", "arrow"] == 100
    assert found["sde_commit_seconds_count",] == 2


def test_lag_is_the_age_of_what_was_read_last_in_the_partition_furthest_behind(collected):
    collected.collector.on_figures(
        1,
        [
            reading(partition=0, newest=NOW - 5),
            reading(partition=1, newest=NOW - 90),
            reading(partition=2, newest=NOW - 900),  # of which all is read
            reading("quiet", newest=NOW - 9000),
        ],
    )
    left = {("t", 0): 10, ("source/t", 1): 20, ("t", 2): 0, ("quiet", 0): 0, ("new", 0): 3}
    found = collected.samples(left)
    assert found["sde_lag_messages", "t"] == 30
    assert found["sde_lag_seconds", "t"] == 90
    assert found["sde_lag_seconds", "quiet"] == 0
    assert found["sde_lag_messages", "new"] == 3
    assert ("sde_lag_seconds", "new") not in found  # nothing of it was read yet


def test_lost_offsets_begin_at_0_so_that_the_first_loss_is_growth(collected):
    collected.collector.on_figures(1, [reading()])
    assert collected.samples()["sde_offsets_lost_total", "t"] == 0
    collected.collector.on_figures(2, [reading(lost=12)])
    assert collected.samples()["sde_offsets_lost_total", "t"] == 12


def test_shards_are_summed_as_each_was_last(collected):
    forex = DatasetFigures(size=100, streams=3, promised=50, watermark=int((NOW - 7) * MS))
    other = DatasetFigures(size=10, streams=4)
    first = shard(0, {"Forex": forex}, log_bytes=5, snapshot_bytes=7, rebuilt=True)
    collected.collector.on_figures(1, [first, shard(1, {"Forex": other}, left_out={"late": 2})])
    collected.collector.on_figures(2, [shard(1, {"Forex": other}, log_bytes=1)])
    found = collected.samples()
    assert found["sde_state_bytes", "Forex"] == 160
    assert found["sde_streams", "Forex"] == 7
    assert found["sde_watermark_lag_seconds", "Forex"] == 7
    assert found["sde_checkpoint_bytes", "log"] == 6
    assert found["sde_checkpoint_bytes", "snapshot"] == 7
    assert found["sde_arena_rebuilds_total",] == 1
    assert found["sde_tuples_left_out_total", "late"] == 2


def test_what_all_shards_know_alike_comes_from_the_first(collected):
    engine = EngineFigures(
        synopses={"count_min": 3},
        plugins={"active": 1, "waiting": 0},
        watches=2,
        watch_due=int((NOW - 4) * MS),
        sites={"berlin": SiteFigures(10, 20)},
    )
    collected.collector.on_figures(1, [shard(0, engine=engine)])
    found = collected.samples()
    assert found["sde_synopses", "count_min"] == 3
    assert found["sde_plugins", "active"] == 1
    assert (found["sde_watches",], found["sde_watch_delay_seconds",]) == (2, 4)
    assert found["sde_site_bytes_total", "received", "berlin"] == 10
    assert found["sde_site_bytes_total", "sent", "berlin"] == 20


def test_replies_letters_and_exported_watches(collected):
    written = Written(
        letters={"bad_json": 2},
        replies=[("create", "ok", 1), (WATCH_ANSWER, "ok", 5), ("none", "bad_json", 1)],
        watched={"w": Watched(5.0, 4.0), "v": Watched(1.0, 0.0, 2.0)},
    )
    collected.collector.on_figures(1, [written])
    found = collected.samples()
    assert found["sde_dead_letters_total", "bad_json"] == 2
    assert found["sde_requests_total", "bad_json", "none"] == 1
    assert found["sde_watch_answers_total", "ok"] == 5
    assert (found["sde_watch_value", "w"], found["sde_watch_lower", "w"]) == (5, 4)
    assert ("sde_watch_upper", "w") not in found
    collected.collector.on_figures(2, [Written(watched={"w": None})])
    assert [key for key in collected.samples() if key[-1] == "w"] == []


def test_the_file_has_what_batches_handed_over_and_passes_over_what_is_none(tmp_path):
    settings = Settings(data_dir=tmp_path)
    (tmp_path / "arena").mkdir()
    handover = Handover(settings.figures_folder)
    handover.put(1, [pack_figures(Committed(seconds=9.0))])  # of an earlier run
    file = MetricsFile(settings)
    file.begin()
    handover.put(10, [pack_figures(Committed(seconds=0.5)), b"no figures"])
    handover.put(9, [pack_figures(Committed(seconds=0.25))])
    (settings.figures_folder / "11").write_bytes(b"broken")
    about = {"kafka_is_up": False, "passed_over": 2, "left": {}, "sites": {"berlin": False}}
    file.write("running", **about)
    found = read((tmp_path / METRICS_FILE).read_bytes())
    assert found["sde_commit_seconds_sum",] == 0.75
    assert found["sde_kafka_up",] == 0
    assert found["sde_messages_passed_over",] == 2
    assert found["sde_site_up", "berlin"] == 0
    assert found["sde_engine_state", "running"] == 1
    assert found["sde_dead_letters_total", "bad_tuple"] == 0
    assert os.listdir(settings.figures_folder) == []
    file.remove()
    assert not (tmp_path / METRICS_FILE).exists()


def test_figures_that_nobody_takes_do_not_fill_the_disk(tmp_path):
    handover = Handover(tmp_path / "figures")
    for batch in range(1200):
        handover.put(batch, [b"x"])
    assert len(handover.take()) == 1000
