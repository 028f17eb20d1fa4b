"""Ends a part of a running engine as a crash would, and brings back what does not come back."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.faults.asking import Asking
from bench.processes import task_workers
from bench.site import Site
from clients import ClientError
from clients.processes import runs

_SECONDS_TO_RECOVER = 300.0
_LONGEST_WHILE = 20.0  # after which a starting engine is killed again: it is recovering then


@dataclass(frozen=True, slots=True)
class Kill:
    kind: str
    seconds: float  # until a request sent after the kill was answered
    restarts: int  # of the engine that it took


class Killer:
    def __init__(self, site: Site, asking: Asking, seed: int) -> None:
        self._site, self._asking = site, asking
        self._rng = np.random.default_rng(seed)

    def kill(self, kind: str) -> Kill:
        """Kill, let a supervisor do its work, and return when a request is answered."""
        killed, restarts = KINDS[kind](self)
        deadline = time.monotonic() + _SECONDS_TO_RECOVER
        while (answered := self._asking.answered_after(killed)) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no answer {_SECONDS_TO_RECOVER:g} s after a kill: {kind}")
            if not runs(self._site.engine.pid):
                self._restart()
                restarts += 1
            time.sleep(0.05)
        return Kill(kind, answered - killed, restarts)

    def driver(self) -> tuple[float, int]:
        killed = time.monotonic()
        self._restart()
        return killed, 1

    def starting_driver(self) -> tuple[float, int]:
        """The driver, and once more in the middle of its recovery."""
        engine = self._site.engine
        engine.kill()
        starting = threading.Thread(target=_start_in_vain, args=(engine.start,))
        before = engine.pid
        starting.start()
        while engine.pid == before:
            time.sleep(0.01)
        time.sleep(self._rng.uniform(1, _LONGEST_WHILE))
        killed = time.monotonic()
        os.kill(engine.pid, signal.SIGKILL)
        starting.join()
        self._restart()
        return killed, 2

    def worker(self) -> tuple[float, int]:
        while not (workers := task_workers(self._site.engine.pid)):
            time.sleep(0.01)
        killed = time.monotonic()
        try:
            os.kill(int(self._rng.choice(workers)), signal.SIGKILL)
        except ProcessLookupError:  # it ended by itself in between
            return self.worker()
        return killed, 0

    def broker(self) -> tuple[float, int]:
        killed = time.monotonic()
        self._site.broker.kill()
        time.sleep(self._rng.uniform(0, 3))
        self._site.broker.start()
        return killed, 0

    def _restart(self) -> None:
        self._site.engine.kill()
        self._site.engine.start()


KINDS: dict[str, Callable[[Killer], tuple[float, int]]] = {
    "driver": Killer.driver,
    "worker": Killer.worker,
    "broker": Killer.broker,
    "driver, recovering": Killer.starting_driver,
}
_SHARES = (0.25, 0.35, 0.3, 0.1)


def draw_kinds(count: int, seed: int) -> list[str]:
    """Which parts are killed, one after the other; each kind at least once if there is room."""
    rng = np.random.default_rng(seed)
    must = list(KINDS)[:count]
    drawn = rng.choice(list(KINDS), count - len(must), p=_SHARES).tolist()
    return [str(kind) for kind in rng.permutation([*must, *drawn])]


def _start_in_vain(start: Callable[[], None]) -> None:
    try:
        start()
    except ClientError:
        return  # as meant: it was killed
