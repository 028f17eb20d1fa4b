"""Messages that kill the process that handles them, planted one after the other under load.

Each has to be found, dead-lettered and passed within a minute, and nothing else may be lost by it.
A variable of the environment tells the engine's processes which texts are deadly, and where.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import Producer

from bench.faults.asking import Asking
from bench.faults.check import wait_until_counted, wrong_states
from bench.faults.load import Load
from bench.poison.account import DEAD_LETTERS, Message, Reader
from bench.site import DATA, REQUESTS, Site
from clients.processes import runs

UNION = "sde-union"
CONFIG = "stuck_seconds = 15\n"  # after which a batch in which no task ends counts as dead
_VARIABLE = "SDE_TEST_DEATH"
_PASSED_OVER = "passed_over"  # the code of their dead letters
_RATE = 1_000  # good tuples a second
_SECONDS = 300.0  # to wait for a planted message to be passed


@dataclass(frozen=True, slots=True)
class Death:
    """`deed`: how a process of the stage dies that meets the message."""

    topic: str
    stage: str
    deed: str

    @property
    def text(self) -> str:
        return f"{self.deed}-in-{self.stage}-of-{self.topic}"

    @property
    def hangs(self) -> bool:
        """It is noticed after some time without progress, at each of several tries."""
        return self.deed == "loop"

    @property
    def message(self) -> bytes:
        if self.topic == DATA:
            return json.dumps({"dataset": "deadly", "stream": self.text, "values": {}}).encode()
        if self.topic == REQUESTS:
            # Not in the id, which the fault has too that stands for the message afterwards.
            named = f"{self.stage} {self.deed}"
            return json.dumps({"id": named, "op": "describe", "uid": self.text}).encode()
        return self.text.encode()


DEATHS = (
    Death(DATA, "ingest", "kill"),
    Death(DATA, "maintain", "segv"),
    Death(REQUESTS, "ingest", "segv"),
    Death(REQUESTS, "maintain", "kill"),
    Death(REQUESTS, "merge", "raise"),
    Death(UNION, "ingest", "kill"),
    Death(DATA, "maintain", "loop"),
)


@dataclass
class Passed:
    """Seconds from a planted message until its dead letter and an answer to a later request."""

    seconds: dict[str, float] = field(default_factory=dict)
    good: int = 0
    wrong: list[str] = field(default_factory=list)


@contextmanager
def planted() -> Iterator[None]:
    """Engines that are started meanwhile die of the planted messages."""
    os.environ[_VARIABLE] = ",".join(f"{d.stage}:{d.deed}:{d.text}" for d in DEATHS)
    try:
        yield
    finally:
        del os.environ[_VARIABLE]


class _Letters:
    """Places of messages that were passed over, as they come."""

    def __init__(self) -> None:
        self._places: set[tuple[str, int, int]] = set()
        self._came = threading.Condition()

    def note(self, letter: Message) -> None:
        if letter.get("code") == _PASSED_OVER:
            with self._came:
                self._places.add((letter["topic"], letter["partition"], letter["offset"]))
                self._came.notify_all()

    def wait(self, place: tuple[str, int, int], engine: int) -> bool:
        """Whether the letter came while the engine ran, and in time."""
        deadline = time.monotonic() + _SECONDS
        while runs(engine) and time.monotonic() < deadline:
            with self._came:
                if self._came.wait_for(lambda: place in self._places, 1.0):
                    return True
        return False


def plant(site: Site, seed: int) -> Passed:
    """All deaths, one after the other; the engine of the site runs, started inside `planted`."""
    passed, letters = Passed(), _Letters()
    with (
        site.client(_SECONDS) as sde,
        Asking(site.servers, seed) as asking,
        Load(site.servers, _RATE) as load,
        Reader(site.servers, DEAD_LETTERS, letters.note),
    ):
        sde.create("count_min", dataset="deadly", key="k")  # else nobody reads those tuples
        for death in DEATHS:
            began = time.monotonic()
            if not letters.wait(_send(site.servers, death), site.engine.pid):
                return passed
            while asking.answered_after(began) is None and runs(site.engine.pid):
                time.sleep(0.05)
            passed.seconds[death.text] = time.monotonic() - began
            print(f"{death.text}: passed after {passed.seconds[death.text]:.1f} s", flush=True)
        passed.good = load.stop()
        asking.stop()
        wait_until_counted(sde, passed.good)
        passed.wrong = wrong_states(sde, passed.good)
        for name in (*passed.wrong[:3], *passed.wrong[-3:]):
            print(f"wrong after {passed.good:,} good tuples: {name}", flush=True)
    return passed


def _send(servers: str, death: Death) -> tuple[str, int, int]:
    """Where the message stands."""
    places: list[tuple[str, int, int]] = []
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    producer.produce(
        death.topic,
        death.message,
        partition=0,
        on_delivery=lambda _, m: places.append((m.topic(), m.partition(), m.offset())),
    )
    producer.flush()
    return places[0]
