"""The process of a plug-in: `python -m sde.plugins.host SOCKET REGION`, started by the engine.

Keeps no state: each call brings the states it is about and takes the new ones back, so that
nothing is lost with this process.
"""

from __future__ import annotations

import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.plugins import fence, wire
from sde.plugins.columns import from_arrays
from sde.plugins.declaration import declaration_of
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
Told = tuple[dict[str, Any], Sequence[bytes]]
_LINES = 4  # of a traceback that its author is told


class Host:
    """Does what calls ask for. `arrays` are views of shared memory."""

    cls: type[Synopsis]

    def __init__(self) -> None:
        self._templates: dict[str, Synopsis] = {}

    def load(self, head: dict[str, Any], arrays: Arrays, parts: list[bytes]) -> Told:
        fence.close(head["memory"])
        self.cls = load_class(head["name"], head["source"])
        return {"declaration": declaration_of(self.cls)}, ()

    def laws(self, head: dict[str, Any], arrays: Arrays, parts: list[bytes]) -> Told:
        return {"laws": [law.__name__ for law in laws()]}, ()

    def law(self, head: dict[str, Any], arrays: Arrays, parts: list[bytes]) -> Told:
        law = next(law for law in laws() if law.__name__ == head["law"])
        law(self.cls)
        return {}, ()

    def make(self, head: dict[str, Any], arrays: Arrays, parts: list[bytes]) -> Told:
        """What follows from parameters: all of them, the memory, and the arrays if it has any."""
        made = self.cls(**head["params"])
        told = {"params": made.params, "memory": int(made.memory), "layout": None}
        if isinstance(made, BankedSynopsis):
            told["layout"] = {
                name: [np.dtype(dtype).str, list(shape)]
                for name, (dtype, shape) in made.layout().items()
            }
        return told, ()

    def add(self, head: dict[str, Any], arrays: Arrays, parts: list[bytes]) -> Told:
        """Item i goes to the state number `slots[i]`."""
        items, slots = from_arrays(arrays, head["size"]), arrays["slots"]
        order = np.argsort(slots, kind="stable")
        cuts = np.searchsorted(slots[order], np.arange(1, len(parts)))
        states = []
        for state, rows in zip(parts, np.split(order, cuts), strict=True):
            synopsis = self._with_state(head, state)
            synopsis.add(items.take(rows))
            states.append(synopsis._payload())
        return {}, states

    def add_slots(self, head: dict[str, Any], arrays: Arrays, parts: list[bytes]) -> Told:
        """The arrays of the bank are changed where they lie."""
        template = self._template(head["params"])
        assert isinstance(template, BankedSynopsis)
        banked = {n.removeprefix("a."): a for n, a in arrays.items() if n.startswith("a.")}
        template.add_slots(banked, arrays["slots"], from_arrays(arrays, head["size"]))
        return {}, ()

    def merge(self, head: dict[str, Any], arrays: Arrays, parts: list[bytes]) -> Told:
        one, two = (self._with_state(head, state) for state in parts)
        one.merge(two)
        return {}, [one._payload()]

    def estimate(self, head: dict[str, Any], arrays: Arrays, parts: list[bytes]) -> Told:
        first, *others = (self._with_state(head, state) for state in parts)
        return self._told(first.estimate(head["query"], *others))

    def across(self, head: dict[str, Any], arrays: Arrays, parts: list[bytes]) -> Told:
        answer = getattr(self._template(head["params"]), head["question"])
        return self._told(answer(Streams(head["names"], arrays), **head["arguments"]))

    def check(self, head: dict[str, Any], arrays: Arrays, parts: list[bytes]) -> Told:
        """StateError if these bytes are no state."""
        self._with_state(head, parts[0])
        return {}, ()

    def _told(self, estimate: Any) -> Told:
        if not isinstance(estimate, Estimate):
            raise TypeError(f"a question was answered with {type(estimate).__name__}, no Estimate")
        return {"estimate": asdict(estimate)}, ()

    def _template(self, params: dict[str, Any]) -> Synopsis:
        key = repr(params)
        if key not in self._templates:
            self._templates[key] = self.cls(**params)
        return self._templates[key]

    def _with_state(self, head: dict[str, Any], state: bytes) -> Synopsis:
        """No bytes stand for an empty synopsis."""
        synopsis = self.cls(**head["params"])
        if state:
            synopsis._load(memoryview(state))
        return synopsis


def serve(link: socket.socket, region: Region) -> None:
    host = Host()
    while True:
        try:
            head, parts = wire.receive(link, time.monotonic() + IDLE_SECONDS)
        except (EOFError, TimeoutError):
            return
        link.settimeout(None)
        call: Callable[..., Told] = getattr(host, head["call"])
        try:
            region.follow(head["region"])
            answer = wire.frame(*call(head, region.views(head["arrays"]), parts))
        except BaseException as error:  # also SystemExit: a plug-in has no say in that
            answer = wire.frame({"refused": _refusal(error)})
        wire.send(link, answer)


def _refusal(error: BaseException) -> dict[str, Any]:
    match error:
        case ParameterError() | QueryError():
            about = {"name": error.name, "value": error.value, "expected": error.expected}
            return {"why": type(error).__name__, "about": about}
        case StateError() | MergeError() | SourceError() | LawError():
            reason = str(error)
            if isinstance(error, LawError) and error.__cause__ is not None:
                reason += f"\n{_last_lines(error.__cause__)}"
            return {"why": type(error).__name__, "reason": reason[:2000]}
        case _:
            return {"why": "", "reason": _last_lines(error)}


def _last_lines(error: BaseException) -> str:
    lines = "".join(traceback.format_exception(error)).strip().splitlines()
    return "\n".join(line[:300] for line in lines[-_LINES:])


if __name__ == "__main__":
    fence.end_with_parent()
    serve(socket.socket(fileno=int(sys.argv[1])), Region(int(sys.argv[2])))
