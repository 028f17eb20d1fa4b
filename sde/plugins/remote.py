"""Classes that stand for a plug-in's class in the engine: they hold states and call its process.

To banks, windows, questions and snapshots such a class is a kind like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from sde.plugins.columns import to_arrays
from sde.plugins.declaration import attributes_of
from sde.plugins.process import PluginProcess
from sde.plugins.version import PluginVersion
from synopses import (
    Arrays,
    BankedSynopsis,
    Estimate,
    Items,
    Layout,
    QueryError,
    Streams,
    Synopsis,
)
from synopses.base import LARGEST

_CALL_BYTES = 64 << 20  # of arrays that go over in one call
_DTYPES = "iufb"  # numbers: nothing else may lie in arrays


@dataclass(frozen=True, slots=True)
class Made:
    """What follows from parameters, as the plug-in said when they were first used."""

    params: dict[str, Any]
    memory: int
    layout: dict[str, Any] | None


class Remote(Synopsis):
    version: ClassVar[PluginVersion]
    made: ClassVar[dict[bytes, Made]]  # by parameters
    sizes: Made

    @classmethod
    def process(cls) -> PluginProcess:
        """The running process of this plug-in: one in each worker, started when first needed."""
        return _running(cls.version)

    @classmethod
    def learn(cls, made: Made) -> None:
        """What follows from parameters, without asking the plug-in again."""
        cls.made[_key(made.params)] = made

    def _prepare(self) -> None:
        given = self.params
        if _key(given) not in self.made:
            told, _ = self._call("make", {"params": given})
            self.learn(_checked(self.process(), given, told))
        self.sizes = self.made[_key(given)]

    @classmethod
    def _call(cls, *call: Any, **also: Any) -> tuple[dict[str, Any], list[bytes]]:
        return cls.process().call(*call, **also)

    @property
    def memory(self) -> int:
        return self.sizes.memory

    def _merge(self, other: Self) -> None:
        _, states = self._call(
            "merge", {"params": self.params}, None, [self._payload(), other._payload()]
        )
        self._load(memoryview(self._one(states)))

    def estimate(self, query: Mapping[str, Any] | None = None, *others: Self) -> Estimate:
        question, _ = self.check_query(query or {}, len(others))
        if question.across:
            raise QueryError("query.type", question.name, "a question about one synopsis")
        states = [self._payload(), *(other._payload() for other in others)]
        told, _ = self._call(
            "estimate", {"params": self.params, "query": dict(query or {})}, None, states
        )
        return self._estimate_of(told)

    @classmethod
    def _estimate_of(cls, told: dict[str, Any]) -> Estimate:
        try:
            return Estimate(**told["estimate"])
        except (KeyError, TypeError):
            cls.process().nonsense("no estimate")

    def _one(self, states: list[bytes]) -> bytes:
        return self._states(states, 1)[0]

    @classmethod
    def _states(cls, states: list[bytes], count: int) -> list[bytes]:
        if len(states) != count or any(len(state) > LARGEST for state in states):
            cls.process().nonsense(f"{len(states)} states for {count}, or too large ones")
        return states

    def verify(self) -> None:
        """StateError if the plug-in says that this state is none."""
        self._call("check", {"params": self.params}, None, [self._payload()])


class RemoteSynopsis(Remote):
    """A plug-in that keeps its state as it likes; here it is bytes, none while it is empty."""

    _bytes = b""

    @classmethod
    def add_many(
        cls, synopses: list[RemoteSynopsis], slots: NDArray[np.int64], items: Items
    ) -> None:
        """Add item i to `synopses[slots[i]]`, in one call for all."""
        arrays = {**to_arrays(items), "slots": slots}
        _, states = cls._call(
            "add",
            {"params": synopses[0].params, "size": len(items)},
            arrays,
            [synopsis._bytes for synopsis in synopses],
        )
        for synopsis, state in zip(synopses, cls._states(states, len(synopses)), strict=True):
            synopsis._bytes = state

    def _add(self, items: Items) -> None:
        self.add_many([self], np.zeros(len(items), np.int64), items)

    def _payload(self) -> bytes:
        return self._bytes

    def _load(self, payload: memoryview) -> None:
        self._bytes = bytes(payload)


class RemoteBanked(Remote, BankedSynopsis):
    """A plug-in whose state is arrays: those of the slots that a block touches go over and back."""

    def _prepare(self) -> None:
        BankedSynopsis._prepare(self)
        Remote._prepare(self)

    def layout(self) -> Layout:
        assert self.sizes.layout is not None
        return {name: (dtype, tuple(shape)) for name, (dtype, shape) in self.sizes.layout.items()}

    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        touched, places = np.unique(slots, return_inverse=True)
        at_once = max(1, _CALL_BYTES // max(1, self.memory))
        for start in range(0, len(touched), at_once):
            some, of_some, to = touched[start : start + at_once], items, places
            if len(some) < len(touched):
                rows = np.flatnonzero((places >= start) & (places < start + at_once))
                of_some, to = items.take(rows), places[rows] - start
            self._add_some(arrays, some, to.astype(np.int32), of_some)

    def _add_some(
        self, arrays: Arrays, touched: NDArray[np.int32], to: NDArray[np.int32], items: Items
    ) -> None:
        gone_over = {f"a.{name}": array[touched] for name, array in arrays.items()}
        self._call(
            "add_slots",
            {"params": self.params, "size": len(items)},
            {**to_arrays(items), "slots": to, **gone_over},
        )
        changed = self.process().views()
        for name, array in arrays.items():
            array[touched] = changed[f"a.{name}"]

    def _merge(self, other: Self) -> None:
        if self.linear:
            BankedSynopsis._merge(self, other)
        else:
            Remote._merge(self, other)


def _across(name: str) -> Callable[..., Estimate]:
    def ask(self: Remote, streams: Streams, **arguments: Any) -> Estimate:
        about = {
            "params": self.params,
            "question": name,
            "names": streams.names,
            "arguments": arguments,
        }
        told, _ = self._call("across", about, streams.arrays)
        return self._estimate_of(told)

    return ask


# -- of this process -------------------------------------------------------------------------------

_processes: dict[tuple[str, str], PluginProcess] = {}
_classes: dict[bytes, type[Remote]] = {}


def kind_class(version: PluginVersion) -> type[Remote]:
    """The class that stands for a version of a plug-in."""
    key = orjson.dumps(version)
    if key not in _classes:
        attributes = attributes_of(version.declaration)
        across = {n: _across(n) for n, q in attributes["questions"].items() if q.across}
        base = RemoteBanked if version.declaration["banked"] else RemoteSynopsis
        named = {"kind": version.kind, "version": version, "made": {}}
        doc = {"__doc__": version.declaration["doc"]}
        cls = type(version.name, (base,), {**named, **across, **doc})
        for name, value in attributes.items():
            setattr(cls, name, value)
        _classes[key] = cls
    return _classes[key]


def _running(version: PluginVersion) -> PluginProcess:
    key = (version.kind, version.sha256)
    held = _processes.get(key)
    if held is None or held.ended or held.is_stale:
        stop_process(version)
        held = _processes[key] = PluginProcess(version.kind, version.seconds)
        held.load(version.name, version.source, version.memory)
    return held


def stop_process(version: PluginVersion) -> None:
    """Stop what runs for this worker; it starts again if it is needed."""
    held = _processes.pop((version.kind, version.sha256), None)
    if held is not None:
        held.stop()


def _key(params: dict[str, Any]) -> bytes:
    return orjson.dumps(params, option=orjson.OPT_SORT_KEYS)


def _checked(process: PluginProcess, given: dict[str, Any], told: dict[str, Any]) -> Made:
    """Its word on sizes is not taken unseen."""
    try:
        memory, layout = int(told["memory"]), told["layout"]
        sizes = [
            np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
            for dtype, shape in (layout or {}).values()
        ]
        kinds = {np.dtype(dtype).kind for dtype, _ in (layout or {}).values()}
        fits = memory >= 0 and all(0 <= size <= LARGEST for size in sizes)
        if not fits or kinds - set(_DTYPES) or sum(sizes) > LARGEST or told["params"] != given:
            process.nonsense("impossible sizes or parameters")
        return Made(given, memory, layout)
    except (KeyError, TypeError, ValueError, AttributeError):
        process.nonsense("sizes that are none")
