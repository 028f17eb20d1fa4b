"""The process of a plug-in: `python -m sde.plugins.host SOCKET REGION`, started by the engine.

Keeps no state: each call brings the states it is about and takes the new ones back, so that
nothing is lost with this process. The other end is `sde.plugins.process`.
"""

from __future__ import annotations

import socket
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, assert_never

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from sde.plugins import calls, fence, wire
from sde.plugins.calls import Call, Problem, Result, from_raw, to_raw
from sde.plugins.columns import from_arrays
from sde.plugins.declaration import Declaration
from sde.plugins.migrating import arrays_of, put_arrays
from sde.plugins.process import IDLE_SECONDS
from sde.plugins.region import Region
from sde.plugins.source import SourceError, load_class
from synopses import (
    BankedSynopsis,
    Estimate,
    MergeError,
    ParameterError,
    QueryError,
    StateError,
    Streams,
    Synopsis,
)
from synopses.laws import LawError, laws

Arrays = dict[str, NDArray[Any]]
_LINES = 4  # of a traceback, for the plug-in's author
_LONGEST_REASON = 2000  # characters


class Host:
    """Carries out calls with the class of the plug-in, which the first call loads."""

    cls: type[Synopsis]

    def __init__(self) -> None:
        self._templates: dict[bytes, Synopsis] = {}  # by parameters, as JSON

    def answer(
        self, call: Call, arrays: Arrays, states: list[bytes]
    ) -> tuple[Result, Sequence[bytes]]:
        """The result of a call and the states that go back with it.

        `arrays` are views of shared memory: changing them is part of the answer. Whatever the
        plug-in raises goes through; `serve` makes a reply of it.
        """
        match call:
            case calls.Load():
                fence.close(call.memory)
                self.cls = load_class(call.plugin, call.source)
                return calls.Loaded(Declaration.of(self.cls)), ()
            case calls.ListLaws():
                names = {law.__name__: law.not_applicable(self.cls) for law in laws()}
                return calls.LawNames(names), ()
            case calls.CheckLaw():
                law = next(law for law in laws() if law.__name__ == call.law)
                law(self.cls)
                return calls.Done(), ()
            case calls.Make():
                return _sizes(self.cls(**from_raw(call.params))), ()
            case calls.Add():
                return calls.Done(), self._add(call, arrays, states)
            case calls.AddSlots():
                self._add_slots(call, arrays)
                return calls.Done(), ()
            case calls.Merge():
                one, two = (self._with_state(call.params, state) for state in states)
                one.merge(two)
                return calls.Done(), [one._payload()]
            case calls.Ask():
                first, *others = (self._with_state(call.params, state) for state in states)
                return _answer(first.estimate(from_raw(call.query), *others)), ()
            case calls.AskAcross():
                question = getattr(self._template(call.params), call.question)
                streams = Streams(call.streams, arrays)
                return _answer(question(streams, **from_raw(call.arguments))), ()
            case calls.CheckState():
                self._with_state(call.params, states[0])
                return calls.Done(), ()
            case calls.Migrate():
                return calls.Done(), [self._migrated(call, state) for state in states]
            case never:
                assert_never(never)

    def _add(self, call: calls.Add, arrays: Arrays, states: list[bytes]) -> list[bytes]:
        """The states after item i was added to the state number `slots[i]`."""
        items, slots = from_arrays(arrays, call.size), arrays["slots"]
        order = np.argsort(slots, kind="stable")
        cuts = np.searchsorted(slots[order], np.arange(1, len(states)))
        changed = []
        for state, rows in zip(states, np.split(order, cuts), strict=True):
            synopsis = self._with_state(call.params, state)
            synopsis.add(items.take(rows))
            changed.append(synopsis._payload())
        return changed

    def _add_slots(self, call: calls.AddSlots, arrays: Arrays) -> None:
        """The arrays of the bank are changed where they lie."""
        template = self._template(call.params)
        assert isinstance(template, BankedSynopsis)
        banked = {n.removeprefix("a."): a for n, a in arrays.items() if n.startswith("a.")}
        template.add_slots(banked, arrays["slots"], from_arrays(arrays, call.size))

    def _migrated(self, call: calls.Migrate, state: bytes) -> bytes:
        """A state of this version, from one of the version before."""
        old: Any = state if call.old_layout is None else arrays_of(call.old_layout, state)
        migrate = getattr(self.cls, "migrate", None)
        new = old if migrate is None else migrate(from_raw(call.old_params), old)
        synopsis = self.cls(**from_raw(call.params))
        if isinstance(synopsis, BankedSynopsis):
            put_arrays(synopsis, new)
        else:
            synopsis._load(memoryview(new))
        return synopsis._payload()

    def _template(self, params: Raw) -> Synopsis:
        """A synopsis that is asked and never filled, one for all calls with these parameters."""
        key = bytes(params)
        if key not in self._templates:
            self._templates[key] = self.cls(**from_raw(params))
        return self._templates[key]

    def _with_state(self, params: Raw, state: bytes) -> Synopsis:
        """A synopsis of its own with this state; no bytes stand for an empty one."""
        synopsis = self.cls(**from_raw(params))
        if state:
            synopsis._load(memoryview(state))
        return synopsis


def _sizes(synopsis: Synopsis) -> calls.Sizes:
    layout = None
    if isinstance(synopsis, BankedSynopsis):
        layout = {
            name: (np.dtype(dtype).str, tuple(shape))
            for name, (dtype, shape) in synopsis.layout().items()
        }
    return calls.Sizes(to_raw(synopsis.params), int(synopsis.memory), layout)


def _answer(estimate: Any) -> calls.Answer:
    if not isinstance(estimate, Estimate):
        raise TypeError(f"a question was answered with {type(estimate).__name__}, no Estimate")
    return calls.Answer(to_raw(asdict(estimate)))


def serve(link: socket.socket, region: Region) -> None:
    """Answer calls until the engine is gone or has not called for long."""
    host = Host()
    while True:
        try:
            until = time.monotonic() + IDLE_SECONDS
            envelope, states = wire.receive(link, calls.ENVELOPES, until, region.move_to)
        except (EOFError, TimeoutError):
            return
        link.settimeout(None)
        try:
            arrays = region.views(envelope.arrays)
            reply = wire.frame(*host.answer(envelope.call, arrays, states))
        except BaseException as error:  # also SystemExit: a plug-in has no say in that
            reply = wire.frame(_problem(error))
        wire.send(link, reply)


def _problem(error: BaseException) -> Problem:
    match error:
        case ParameterError():
            return calls.BadParameter(str(error.name), to_raw(error.value), str(error.expected))
        case QueryError():
            return calls.BadQuery(str(error.name), to_raw(error.value), str(error.expected))
        case StateError():
            return calls.BadState(_short(error))
        case MergeError():
            return calls.BadMerge(_short(error))
        case LawError() if error.__cause__ is not None:
            return calls.Unfit(f"{error}\n{_what_and_where(error.__cause__)}"[:_LONGEST_REASON])
        case SourceError() | LawError():
            return calls.Unfit(_short(error))
        case _:
            return calls.Broken(_what_and_where(error))


def _short(error: BaseException) -> str:
    return str(error)[:_LONGEST_REASON]


def _what_and_where(error: BaseException) -> str:
    """What was raised, and then where."""
    where = traceback.format_tb(error.__traceback__)[-1:]
    lines = "".join([*traceback.format_exception_only(error), *where]).splitlines()
    told = [line[:300] for line in lines if line.strip(" ^~")]  # without marks below the source
    return "\n".join(told[:_LINES])


if __name__ == "__main__":
    fence.end_with_parent()
    serve(socket.socket(fileno=int(sys.argv[1])), Region(int(sys.argv[2])))
