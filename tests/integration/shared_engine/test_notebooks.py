"""The notebooks that need one engine, run from the first cell to the last."""

import pytest

from tests.docs.notebooks import RUN, run_notebook

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("name", RUN)
def test_a_notebook_runs(name, engine, monkeypatch):
    monkeypatch.setenv("SDE_BOOTSTRAP_SERVERS", engine.process.bootstrap_servers)
    run_notebook(name)
    with engine.client() as sde:
        assert not {each.dataset for each in sde.list()} & {"Sketch", "Stocks"}
