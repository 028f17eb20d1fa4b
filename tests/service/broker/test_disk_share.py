"""The embedded broker cannot fill a disk."""

import shutil
from types import SimpleNamespace

import pytest

from service.broker.disk_share import partition_bytes
from service.broker.embedded import EmbeddedBroker, segment_bytes

GIB = 1 << 30


def test_all_partitions_together_have_what_the_setting_says(tmp_path):
    assert partition_bytes(tmp_path, 20 * GIB, 4) == 2 * GIB
    assert partition_bytes(tmp_path, 1, 4) == 64 << 20


def test_by_default_they_have_half_of_the_free_space_and_of_what_they_have_already(
    tmp_path, monkeypatch
):
    folder = tmp_path / "broker" / "data" / "sde-data-0"
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=19 * GIB))
    assert partition_bytes(tmp_path / "broker", 0, 4) == 19 * GIB // 20
    folder.mkdir(parents=True)
    with (folder / "00000000000000000000.log").open("wb") as file:
        file.truncate(GIB)
    assert partition_bytes(tmp_path / "broker", 0, 4) == GIB


@pytest.mark.parametrize("most", [64 << 20, 200 << 20, GIB, 100 * GIB])
def test_a_segment_is_a_part_of_a_partition_and_holds_the_largest_message(most):
    assert 16 << 20 < segment_bytes(most) <= max(most // 4, 32 << 20)
    assert segment_bytes(most) <= GIB


def test_the_broker_is_started_with_the_limit(tmp_path):
    broker = EmbeddedBroker(tmp_path, partition_bytes=GIB)
    broker._ports = (20_000, 20_001)
    broker._write_settings()
    lines = (tmp_path / "server.properties").read_text().splitlines()
    assert f"log.retention.bytes={GIB}" in lines
    assert f"log.segment.bytes={GIB // 4}" in lines
