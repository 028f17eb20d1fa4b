"""Fixtures that every test may use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from service.broker.embedded import EmbeddedBroker

# The same examples in every run. No deadline: a kernel's first call may have to compile it, and
# the machine may be busy.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


_WITH_SPARK = ("tests/integration/", "tests/service/")


class EnginesTogether(LoadFileScheduling):
    """A process takes whole files, and one of them all files with Spark or engines.

    Two engines on few cores make each other so slow that a patient user would give up.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(_WITH_SPARK):
            return "with Spark"
        return super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> EnginesTogether:
    return EnginesTogether(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Engines take longest: they come first."""
    items.sort(key=lambda item: not item.nodeid.startswith(_WITH_SPARK))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """One real broker for the whole run: use topic names of your own, never stop or restart it."""
    with EmbeddedBroker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A real broker of the test's own, already running, to restart, kill or stop."""
    with EmbeddedBroker(tmp_path / "broker") as running:
        yield running
