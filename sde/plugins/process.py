"""The engine's end of a plug-in's process: start it, call it, stop it when it misbehaves.

Used by `sde.plugins.remote` for plug-ins that run and by `sde.plugins.examination` for those that
may not run yet. The other end is `sde.plugins.host`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeVar, assert_never

from msgspec import Raw
from numpy.typing import NDArray

from sde.plugins import calls, wire
from sde.plugins.calls import Call, Problem, Reply, Result, from_raw
from sde.plugins.declaration import Declaration
from sde.plugins.failure import PluginFailure
from sde.plugins.region import Region
from synopses import MergeError, ParameterError, QueryError, StateError

R = TypeVar("R", bound=Result)
IDLE_SECONDS = 600.0  # without a call, after which it ends
_START_SECONDS = 60.0  # Python, numpy and numba, on a busy machine
_COMPILING_SECONDS = 30.0  # that the first call of a form may take beside its limit
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
_INHERITED = ("PATH", "HOME", "LANG", "TMPDIR", "NUMBA_CACHE_DIR")


# What a plug-in may refuse: that which its user, or its author, may have got wrong.
_MAY_REFUSE: dict[type[Call], type[Problem]] = {
    calls.Load: calls.Unfit,
    calls.CheckLaw: calls.Unfit,
    calls.Make: calls.BadParameter,
    calls.Ask: calls.BadQuery,
    calls.AskAcross: calls.BadQuery,
    calls.CheckState: calls.BadState,
    calls.Merge: calls.BadMerge,
}

Form = tuple[str, ...]


def _form(call: Call, arrays: Mapping[str, NDArray[Any]]) -> Form:
    """What a compiler would tell calls apart by: the method, and the types of its arguments."""
    types = [f"{name} {array.dtype.str}" for name, array in sorted(arrays.items())]
    match call:
        case calls.Ask():
            query = dict(from_raw(call.query))
            asked = [f"{name} {type(value).__name__}" for name, value in sorted(query.items())]
            return (call.name, str(query.get("type")), *asked)
        case calls.AskAcross():
            return (call.name, call.question, *types)
        case _:
            return (call.name, *types)


class UnfitPlugin(Exception):
    """The source is no plug-in, or its class breaks a law. The text is for its author."""


class PluginProcess:
    """Serves one plug-in. Any call may end it with PluginFailure; then it is of no use."""

    def __init__(self, kind: str, seconds: float, output: int = subprocess.DEVNULL) -> None:
        """`seconds` is the limit of a call, `output` where the plug-in may print.

        A plug-in may have kernels that are compiled when they are first called, for each form of
        their arguments: such a call may take longer.
        """
        self._kind, self._seconds = kind, seconds
        self.ended = False
        self._known_forms: set[Form] = set()
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
                env={**{n: os.environ[n] for n in _INHERITED if n in os.environ}, **_ENVIRONMENT},
                start_new_session=True,  # what it starts in spite of all ends with it
            )

    def load(self, name: str, source: str, memory: int) -> Declaration:
        """Run the source; what its class declares. To be called first, and once."""
        load = calls.Load(name, source, memory)
        loaded, _ = self.call(load, calls.Loaded, seconds=_START_SECONDS)
        return loaded.declaration

    def call(
        self,
        call: Call,
        expected: type[R],
        arrays: Mapping[str, NDArray[Any]] | None = None,
        states: Sequence[bytes] = (),
        seconds: float | None = None,
    ) -> tuple[R, list[bytes]]:
        """The result of a call and the states that came with it.

        `views` then has the arrays as the plug-in left them. ParameterError, QueryError,
        StateError, MergeError and UnfitPlugin are the plug-in's own answer to calls that it
        `_MAY_REFUSE` so. PluginFailure is all that a plug-in must not do: to raise these in other
        calls, or to give a result of another kind than `expected`.
        """
        form = _form(call, arrays or {})
        first = 0.0 if form in self._known_forms else _COMPILING_SECONDS
        limit = self._seconds + first if seconds is None else seconds
        self._last_used = time.monotonic()
        deadline = self._last_used + limit
        known = self._region.handle
        self._placed = self._region.place(arrays or {})
        moved = self._region.handle if self._region.handle != known else None
        envelope = calls.Envelope(self._placed, call)
        try:
            wire.send(self._link, wire.frame(envelope, states), deadline, moved)
            reply, new_states = wire.receive(self._link, calls.REPLIES, deadline)
        except TimeoutError:
            self.fail(f"{call.name} took more than {limit:g} s")
        except (EOFError, OSError):
            self.fail(f"its process ended during {call.name}{self._how_it_ended()}")
        except wire.Garbled as error:
            self.fail(f"{call.name} gave back nonsense: {error}")
        self._known_forms.add(form)
        if isinstance(reply, expected):
            return reply, new_states
        self._raise(call, reply)

    @property
    def is_stale(self) -> bool:
        """It was not used for so long that it ends, or has ended, by itself."""
        return time.monotonic() - self._last_used > IDLE_SECONDS / 2

    def views(self) -> dict[str, NDArray[Any]]:
        """The arrays of the last call as they are now, until the next."""
        return self._region.views(self._placed)

    def fail(self, reason: str) -> NoReturn:
        """End the process, for what the plug-in did."""
        self.stop()
        raise PluginFailure(self._kind, reason)

    def nonsense(self, what: str) -> NoReturn:
        """End the process: its reply has the right form, but cannot be true."""
        self.fail(f"it gave back nonsense: {what}")

    def stop(self) -> None:
        """Kill it; stopping twice is harmless."""
        if self.ended:
            return
        self.ended = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._link.close()
        self._region.close()

    def _raise(self, call: Call, reply: Reply) -> NoReturn:
        """Raise what a reply that is not the expected result means."""
        error: Exception
        match reply:
            case calls.BadParameter():
                error = ParameterError(reply.name, self._value(reply.value), reply.expected)
            case calls.BadQuery():
                error = QueryError(reply.name, self._value(reply.value), reply.expected)
            case calls.BadState():
                error = StateError(reply.reason)
            case calls.BadMerge():
                error = MergeError(reply.reason)
            case calls.Unfit():
                error = UnfitPlugin(reply.reason)
            case calls.Broken():
                self.fail(f"{call.name} failed: {reply.reason}")
            case calls.Loaded() | calls.LawNames() | calls.Sizes() | calls.Answer() | calls.Done():
                self.fail(f"{call.name} gave back nonsense: the result of another call")
            case never:
                assert_never(never)
        if _MAY_REFUSE.get(type(call)) is not type(reply):
            self.fail(f"{call.name} failed: {type(error).__name__}: {error}")
        raise error

    def _value(self, raw: Raw) -> Any:
        try:
            return from_raw(raw)
        except ValueError:
            self.nonsense("a value that is no JSON")

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return ", or closed its connection"
        return f" ({signal.Signals(-code).name})" if code < 0 else f" (exit code {code})"
