"""The engine's end of a plug-in's process: start it, call it, stop it when it misbehaves."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from numpy.typing import NDArray

from sde.plugins import wire
from sde.plugins.failure import PluginFailure
from sde.plugins.region import Region
from synopses import MergeError, ParameterError, QueryError, StateError

IDLE_SECONDS = 600.0  # without a call, after which it ends
_START_SECONDS = 60.0  # Python, numpy and numba, on a busy machine
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "NUMBA_CACHE_DIR")
Reply = tuple[dict[str, Any], list[bytes]]


class Refused(Exception):
    """The source is no plug-in, or its class breaks a law: the author is told why."""


class PluginProcess:
    """Serves one plug-in. Any call may end it with PluginFailure; then it is of no use."""

    def __init__(self, kind: str, seconds: float, output: int = subprocess.DEVNULL) -> None:
        self._kind, self._seconds = kind, seconds
        self.ended = False
        self._last_used = time.monotonic()
        self._region = Region()
        self._link, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "sde.plugins.host"),
                    *(str(theirs.fileno()), str(self._region.handle)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(theirs.fileno(), self._region.handle),
                env={**{n: os.environ[n] for n in _KEPT if n in os.environ}, **_ENVIRONMENT},
                start_new_session=True,  # what it starts in spite of all ends with it
            )

    def load(self, name: str, source: str, memory: int) -> dict[str, Any]:
        """What the class in the source declares."""
        about = {"name": name, "source": source, "memory": memory}
        told, _ = self.call("load", about, seconds=_START_SECONDS)
        return _object(told.get("declaration"))

    def call(
        self,
        call: str,
        about: dict[str, Any],
        arrays: Mapping[str, NDArray[Any]] | None = None,
        parts: Sequence[bytes] = (),
        seconds: float | None = None,
    ) -> Reply:
        """The reply to a call; `views` then has the arrays as it left them."""
        limit = self._seconds if seconds is None else seconds
        self._last_used = time.monotonic()
        deadline = self._last_used + limit
        self._placed = self._region.place(arrays or {})
        head = {**about, "call": call, "region": self._region.size, "arrays": self._placed}
        try:
            wire.send(self._link, wire.frame(head, parts), deadline)
            told, states = wire.receive(self._link, deadline)
        except TimeoutError:
            self._fail(f"{call} took more than {limit:g} s")
        except (EOFError, OSError):
            self._fail(f"its process ended during {call}{self._how_it_ended()}")
        except wire.Garbled as error:
            self._fail(f"{call} gave back nonsense: {error}")
        if "refused" in told:
            self._raise(call, told["refused"])
        return told, states

    @property
    def is_stale(self) -> bool:
        """It was not used for so long that it ends, or has ended, by itself."""
        return time.monotonic() - self._last_used > IDLE_SECONDS / 2

    def views(self) -> dict[str, NDArray[Any]]:
        """The arrays of the last call as they are now, until the next."""
        return self._region.views(self._placed)

    def nonsense(self, what: str) -> NoReturn:
        self._fail(f"it gave back nonsense: {what}")

    def stop(self) -> None:
        if self.ended:
            return
        self.ended = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._link.close()
        self._region.close()

    def _fail(self, reason: str) -> NoReturn:
        self.stop()
        raise PluginFailure(self._kind, reason)

    def _raise(self, call: str, refused: Any) -> NoReturn:
        """What its user got wrong, or what it got wrong itself."""
        try:
            about = refused.get("about", {})
            match refused["why"]:
                case "ParameterError":
                    raise ParameterError(**about)
                case "QueryError":
                    raise QueryError(**about)
                case "StateError":
                    raise StateError(refused["reason"])
                case "MergeError":
                    raise MergeError(refused["reason"])
                case "SourceError" | "LawError":
                    raise Refused(refused["reason"])
                case _:
                    reason = str(refused["reason"])
        except (KeyError, AttributeError, TypeError):
            reason = "nonsense in place of an error"
        self._fail(f"{call} failed: {reason}")

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return ", or closed its connection"
        return f" ({signal.Signals(-code).name})" if code < 0 else f" (exit code {code})"


def _object(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
