"""Fixtures that every test may use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from service.broker import EmbeddedBroker

# The same examples in every run. No deadline: a kernel's first call may have to compile it, and
# the machine may be busy.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Engines one at a time and from the start, while another process does the other files.

    Two engines on few cores make each other so slow that a patient user would give up.
    """
    for item in items:
        of_engines = "integration" in item.path.parts
        item.add_marker(pytest.mark.xdist_group("engines" if of_engines else item.path.stem))
    items.sort(key=lambda item: "integration" not in item.path.parts)


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
