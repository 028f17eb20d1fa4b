"""Deaths for tests: a process that meets a text ends at once, or never.

Only where the environment has SDE_TEST_DEATH when the process starts, as no engine has that a user
runs: "STAGE:DEED:TEXT", several with commas between. Stages are ingest, maintain and merge, deeds
kill, segv, raise and loop.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable


def _die(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def _raise() -> None:
    raise RuntimeError("a planted defect")


def _loop() -> None:
    while True:
        time.sleep(1)


_DEEDS: dict[str, Callable[[], None]] = {
    "kill": lambda: _die(signal.SIGKILL),
    "segv": lambda: _die(signal.SIGSEGV),
    "raise": _raise,
    "loop": _loop,
}
_PLANTED: dict[str, list[tuple[str, bytes]]] = {}
for _one in filter(None, os.environ.get("SDE_TEST_DEATH", "").split(",")):
    _stage, _deed, _text = _one.split(":", 2)
    _PLANTED.setdefault(_stage, []).append((_deed, _text.encode()))


def meet(stage: str, content: Callable[[], bytes]) -> None:
    """Called by the adapters of the stages with what they got; `content` is not called unless a
    death is planted there."""
    for deed, text in _PLANTED.get(stage, ()):
        if text in content():
            _DEEDS[deed]()
