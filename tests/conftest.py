"""Fixtures that every test may use."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from service.broker import embedded
from service.broker.embedded import EmbeddedBroker

# The same examples in every run; SDE_EXAMPLES asks for more of them, or fewer. No deadline: a
# kernel's first call may have to compile it, and the machine may be busy.
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    max_examples=int(os.environ.get("SDE_EXAMPLES", "100")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")

# A task more in every stage takes a fifth of a batch's processor time. The engine that most tests
# share has two cores all the same, and so has all that several tasks can get wrong.
os.environ["SDE_CORES"] = "1"

# Brokers of tests live for seconds or minutes: Java's best compiler would take 40 % of the
# processor time of a start, and its code would come too late.
embedded._JVM_OPTIONS = (*embedded._JVM_OPTIONS, "-XX:TieredStopAtLevel=1")

_WITH_ENGINES = ("tests/integration/", "tests/docs/test_pages.py")
_SHARE_AN_ENGINE = "tests/integration/shared_engine/"
_LONGEST_FIRST = (
    _SHARE_AN_ENGINE,
    "tests/integration/test_federation.py",
    "tests/integration/test_safety_net.py",
    "tests/docs/test_pages.py",
)
_ENGINES_AT_ONCE = 2


class EnginesBesideUnits(LoadFileScheduling):
    """A process takes whole files, or all files that share an engine; two of the processes those
    with engines, as long as there are.

    Engines mostly wait, so two files with engines and one without keep two cores busy. More
    engines make each other so slow that a patient user would give up.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(_SHARE_AN_ENGINE):
            return _SHARE_AN_ENGINE
        return super()._split_scope(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        others = sum(self._runs_engines(n) for n in self.nodes if n is not node)
        for scope in self.workqueue:
            if others < _ENGINES_AT_ONCE or not scope.startswith(_WITH_ENGINES):
                self.workqueue.move_to_end(scope, last=False)
                break
        super()._assign_work_unit(node)

    def _runs_engines(self, node: WorkerController) -> bool:
        """Or is about to."""
        return any(
            scope.startswith(_WITH_ENGINES) and not all(tests.values())
            for scope, tests in self.assigned_work[node].items()
        )


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> EnginesBesideUnits:
    return EnginesBesideUnits(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with engines come first, of them those that take longest."""
    items.sort(key=lambda item: _order(item.nodeid))


def _order(nodeid: str) -> int:
    if not nodeid.startswith(_WITH_ENGINES):
        return len(_LONGEST_FIRST) + 1
    longest = (place for place, name in enumerate(_LONGEST_FIRST) if nodeid.startswith(name))
    return next(longest, len(_LONGEST_FIRST))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """One real broker for the whole run: use topic names of your own, never stop or restart it."""
    with EmbeddedBroker(tmp_path_factory.mktemp("broker")) as running:
        yield running
        gc.collect()  # clients in reference cycles end before their broker, else they complain


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A real broker of the test's own, already running, to restart, kill or stop."""
    with EmbeddedBroker(tmp_path / "broker") as running:
        yield running
