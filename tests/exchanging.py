"""Synopses of every kind at every scope, filled, put in and taken out."""

import copy

import numpy as np
import pytest
from wire_messages import create

from sde.testing import LocalEngine
from synopses import KINDS

T0 = 1_700_000_000_000
STREAMS = [f"s{n}" for n in range(7)]
SCOPES = ["dataset", "stream", {"stream": "s1"}]
SMALL = {
    "chain_sample": {"k": 5, "window": 50},
    "dft": {"window": 16, "basic_window": 4, "coefficients": 2},
    "lsh": {"window": 16, "basic_window": 4, "bits": 64},
    "theta": {"lg_k": 6},
    "trajectory": {"capacity": 20, "min_period": 1},
    "coreset": {"size": 20},
    "quantiles": {"k": 20},
    "sample": {"k": 10},
}
VALUES = {"coreset": ["v", "x"], "trajectory": ["v", "x", "y", "z"]}
WINDOWS = {
    "tumbling": {"type": "tumbling", "size": "10s", "keep": "1h"},
    "sliding": {"type": "sliding", "size": "20s", "slide": "5s", "keep": "1h"},
    "session": {"type": "session", "gap": "3s", "keep": "30m"},
    "count": {"type": "sliding", "size": 30, "slide": 10},
}


def make(uid, kind, scope="dataset", **fields):
    reads = KINDS[kind].reads
    key = "k" if reads & {"keys", "texts"} else None
    value = VALUES.get(kind, "v") if "values" in reads else None
    return create(uid, kind, key, value=value, scope=scope, params=SMALL.get(kind, {}), **fields)


def rows(seed=1, count=150, start=0):
    rng = np.random.default_rng(seed)
    made = []
    for n in range(count):
        names = ("v", "x", "y", "z")
        values = dict(zip(names, rng.integers(1, 60, 4).tolist(), strict=True))
        message = {"dataset": "d", "stream": STREAMS[int(rng.integers(7))]}
        values["k"] = f"k{rng.integers(40)}"
        made.append({**message, "time": T0 + (start + n) * 400, "values": values})
    return made


def kinds_and_scopes():
    return [
        pytest.param(kind, scope, id=f"{kind}-{scope if isinstance(scope, str) else 'one'}")
        for kind in KINDS
        for scope in SCOPES
        if KINDS[kind].mergeable or scope != "dataset"
    ]


def filled(*requests, shards=3, snapshots=None, seed=1):
    engine = LocalEngine(shards=shards, snapshots=snapshots)
    for reply in engine.replies(requests):
        assert reply["status"] == "ok", reply
    feed(engine, rows(seed))
    return engine


def crashed(engine):
    """The engine as it was: its files outside the state are not undone."""
    before = copy.deepcopy((engine.stores, engine._offsets, engine.batch, engine.union))

    def back():
        stores, offsets, batch, union = copy.deepcopy(before)
        engine.stores, engine._offsets, engine.batch, engine.union = stores, offsets, batch, union

    return back


def feed(engine, data):
    engine.replies(data=data, time=T0 + 100_000)
    engine.settle()


def asked(scope):
    return [{}] if scope != "stream" else [{"stream": s} for s in STREAMS]


def export(engine, uid, **fields):
    found = engine.replies([{"id": "x", "op": "export", "uid": uid, **fields}])
    (reply,) = found or engine.settle()
    assert reply["status"] == "ok", reply
    return reply


def put(engine, uid, state, **fields):
    (reply,) = engine.replies(
        [{"id": f"i-{engine.batch}", "op": "import", "uid": uid, "state": state, **fields}]
    )
    return reply


def exports(engine, uid, scope, **fields):
    found = [export(engine, uid, **one, **fields) for one in asked(scope)]
    return [(r["value"], r["tuples"]) for r in found]


def contents(engine):
    return [
        (
            {n: a.tobytes() for n, a in store.arrays() if n != "registry.sizes"},
            {n: b for n, b in store.blobs() if n != "registry.facts"},
        )
        for store in engine.stores
    ]
