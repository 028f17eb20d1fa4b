"""The end of an engine: the last test of this folder, since it stops the engine that all share."""

import time

import pytest
from integration.shared_engine.plugin_keys import plug_in
from plugin_sources import TOTAL

from clients.processes import family, runs

pytestmark = pytest.mark.integration


def test_with_the_engine_end_the_processes_of_its_plug_ins(engine):
    with engine.client() as sde:
        plug_in(sde, "last", TOTAL.replace('kind = "total"', 'kind = "last"'))
        sde.create("last", dataset="last", value="v", uid="last")
        sde.send("last", "s", {"v": 1})
        sde.flush()
        sde.estimate("last")
    hosts = [p.pid for p in family(engine.process.pid) if b"sde.plugins.host" in p.command]
    assert hosts
    assert engine.process.stop() == 0
    deadline = time.monotonic() + 30
    while any(runs(pid) for pid in hosts):
        assert time.monotonic() < deadline, "processes of plug-ins outlive their engine"
        time.sleep(0.1)
