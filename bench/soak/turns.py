"""Turns of all that users do: create, delete, send, ask, watch, keep, restore, plug in, unplug."""

from __future__ import annotations

import contextlib
import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clients import Client, Refused, UnknownStream, UnknownWatch
from clients.pending import Pending

_DATASETS, _STREAMS, _KEYS = 4, 300, 5_000
_CHANGED, _TUPLES = 10, 10_000  # creates, deletes, tuples of a turn
_WATCHES, _KEPT, _VERSIONS = 20, 5, 3  # alive; synopses with snapshots, versions of each
_TURNS_A_PLUGIN = 20
# What is made, and a question that it answers.
_KINDS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"kind": "count_min", "key": "k"}, {"type": "frequency", "key": "1"}),
    ({"kind": "count_min", "key": "k", "params": {"epsilon": 0.002}}, {"type": "total"}),
    ({"kind": "hyperloglog", "key": "k"}, {"type": "cardinality"}),
    ({"kind": "hyperloglog", "key": "k", "params": {"lg_k": 10}}, {"type": "cardinality"}),
    ({"kind": "quantiles", "value": "v"}, {"type": "quantile", "q": 0.5}),
    ({"kind": "frequent_items", "key": "k"}, {"type": "total"}),
    ({"kind": "sample", "key": "k"}, {"type": "population"}),
    ({"kind": "theta", "key": "k", "params": {"lg_k": 9}}, {"type": "cardinality"}),
)
_WINDOWS: tuple[dict[str, Any] | None, ...] = (
    None,
    None,
    {"type": "tumbling", "size": "10s"},
    {"type": "sliding", "size": "20s", "slide": "5s", "lateness": "5s"},
    {"type": "session", "gap": "2s"},
)
_SCOPES: tuple[Any, ...] = ("dataset", "stream", {"stream": "s7"})
# One of each is alive, so that what they take together stays the same.
_MIX = tuple(itertools.product(_KINDS, _SCOPES, _WINDOWS))
_PLUGIN = '''
import numpy as np

from synopses import BankedSynopsis, Estimate, question


class Soaked(BankedSynopsis):
    """Counts items; version {version}."""

    kind = "soaked"
    linear = order_free = True
    guarantee = "exact"

    def layout(self):
        return {{"count": (np.int64, ())}}

    def add_slots(self, arrays, slots, items):
        np.add.at(arrays["count"], slots, 1)

    @question
    def count(self):
        """How many items there were."""
        return Estimate(int(self.arrays["count"][0]))
'''

Made = tuple[dict[str, Any], dict[str, Any]]  # a create and a question


@dataclass
class Turns:
    """What was done so far."""

    creates: int = 0
    deletes: int = 0
    answers: int = 0
    tuples: int = 0
    watches: int = 0
    snapshots: int = 0
    restores: int = 0
    plugins: int = 0
    refused: int = 0


class Soak:
    """Does everything at once, turn by turn. What is alive is bounded, so nothing may grow."""

    def __init__(self, sde: Client, seed: int, folder: Path) -> None:
        self._folder = folder  # for sources of plug-ins
        self._sde, self._rng = sde, np.random.default_rng(seed)
        self._alive: list[Made] = []
        self._watches: list[str] = []
        self._turns = itertools.count()
        self._order = self._rng.permutation(len(_MIX)).tolist()
        self._versions: list[tuple[str, str]] = []  # uid and version of snapshots
        self.done = Turns()
        for number in range(_KEPT):
            sde.create("count_min", dataset="soak-0", uid=f"kept {number}", key="k")

    def turn(self) -> None:
        """Send tuples, create some synopses, ask and watch some, delete the oldest."""
        number = next(self._turns)
        creates = [self._next(number * _CHANGED + n) for n in range(_CHANGED)]
        self._alive += creates
        surplus = max(0, len(self._alive) - len(_MIX))
        deletes, self._alive = self._alive[:surplus], self._alive[surplus:]
        asked = self._rng.choice(len(self._alive), min(_CHANGED, len(self._alive)), replace=False)
        pending = [self._sde.submit("create", **create) for create, _ in creates]
        self._send()
        pending += [self._ask(*self._alive[i]) for i in asked.tolist()]
        pending += self._watch(creates[0])
        pending += self._keep(number)
        pending += [self._sde.submit("delete", uid=create["uid"]) for create, _ in deletes]
        for one in pending:
            self._outcome(one)
        if number % _TURNS_A_PLUGIN == 0:
            self._plug_in(number)
        self.done.creates += len(creates)
        self.done.deletes += len(deletes)
        self.done.answers += len(asked)

    def _outcome(self, pending: Pending[Any]) -> None:
        try:
            pending.result()
        except UnknownStream:
            return  # none of its tuples has come yet
        except Refused as error:
            print(f"refused: {pending.request}: {error}", flush=True)
            self.done.refused += 1

    def _next(self, number: int) -> Made:
        """The create that takes the place of the oldest synopsis, which is of the same form."""
        place = self._order[number % len(_MIX)]
        (definition, question), scope, window = _MIX[place]
        named = {
            "uid": f"u{number} {self._rng.integers(1 << 30)}",
            "dataset": f"soak-{place % _DATASETS}",
            "scope": scope,
            "window": window,
        }
        return {**definition, **named}, question

    def _ask(self, create: dict[str, Any], question: dict[str, Any]) -> Pending[Any]:
        stream = f"s{self._rng.integers(_STREAMS)}" if create["scope"] == "stream" else None
        return self._sde.submit("estimate", uid=create["uid"], query=question, stream=stream)

    def _watch(self, made: Made) -> list[Pending[Any]]:
        """One watch more, and one fewer; some end with their synopsis before."""
        create, question = made
        if create["scope"] == "stream":
            return []
        self.done.watches += 1
        watch = f"watch {self.done.watches} {self._rng.integers(1 << 30)}"
        occasion = {"every": "2s"} if self._rng.random() < 0.5 else {"on": "change"}
        asked = {"uid": create["uid"], "query": question, **occasion}
        pending = [self._sde.submit("watch", id=watch, **asked)]
        self._watches.append(watch)
        if len(self._watches) > _WATCHES:
            # After that many turns its synopsis, and the watch with it, may be deleted.
            self._unwatch(self._watches.pop(0))
        return pending

    def _unwatch(self, watch: str) -> None:
        with contextlib.suppress(UnknownWatch):
            self._sde.unwatch(watch)

    def _keep(self, number: int) -> list[Pending[Any]]:
        """A snapshot more, one fewer, and now and then a restore."""
        uid, version = f"kept {number % _KEPT}", f"v{number}"
        self.done.snapshots += 1
        pending = [self._sde.submit("snapshot", uid=uid, version=version)]
        self._versions.append((uid, version))
        if len(self._versions) > _KEPT * _VERSIONS:
            uid, version = self._versions.pop(0)
            pending.append(self._sde.submit("remove_snapshot", uid=uid, version=version))
        if number % 7 == 6 and number >= _KEPT:
            self.done.restores += 1
            pending.append(self._sde.submit("restore", uid=f"kept {(number + 1) % _KEPT}"))
        return pending

    def _plug_in(self, number: int) -> None:
        """A new version of the plug-in, a synopsis of it, and both are gone again."""
        path = self._folder / "soaked.py"
        path.write_text(_PLUGIN.format(version=number))
        plugin = self._sde.add_plugin(path)
        uid = f"soaked {number}"
        self._sde.create("soaked", dataset="soak-0", uid=uid, key="k")
        self._send()
        self._sde.estimate(uid)
        self._sde.delete(uid)
        self._sde.remove_plugin("soaked", plugin.version)
        self.done.plugins += 1

    def _send(self) -> None:
        streams = self._rng.integers(0, _STREAMS, _TUPLES).tolist()
        keys = (self._rng.zipf(1.3, _TUPLES) % _KEYS).tolist()
        now = int(1000 * time.time())
        rows = [(f"s{s}", {"k": k, "v": k / 8}, now) for s, k in zip(streams, keys, strict=True)]
        dataset = f"soak-{self._rng.integers(_DATASETS)}"
        self.done.tuples += self._sde.send_many(dataset, rows)
