"""An engine with watches: what is sent to it, and what they say."""

from wire_messages import tuples

from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine

T0 = 1_700_000_000_000
TOTAL = {"type": "total"}


def watch(name="w", uid="u", query=TOTAL, **fields):
    target = {"uids": uid} if isinstance(uid, list) else {"uid": uid}
    return {"id": name, "op": "watch", **target, "query": query, **fields}


def counted(n, stream="s", dataset="d", key="a"):
    return tuples(dataset, [(stream, {"k": key, "v": 1.0})] * n)


def spread(n, dataset="d"):
    """One tuple for each of many streams: every shard gets some."""
    return tuples(dataset, [(f"s{i}", {"k": "a", "v": 1.0}) for i in range(n)])


def told(replies, name="w"):
    """The answers of a watch: (number, value), without its acknowledgement."""
    return [
        (r["number"], r["value"])
        for r in replies
        if r["request"] == name and "number" in r and "ended" not in r
    ]


def started(*requests, shards=3, limits=None):
    """An engine that has taken these requests; the clock stands at T0."""
    engine = LocalEngine(shards=shards, limits=limits)
    for reply in engine.replies(requests):
        assert reply["status"] == "ok", reply
    engine.settle()
    return engine


def after(engine, seconds, data=()):
    """What a batch says that has a tick of so many seconds after T0."""
    return [*engine.tick(T0 + round(seconds * 1000)).replies(data=data), *engine.settle()]


def replayed(engine):
    """An engine in whose stores the log was done again; it goes on where the other is."""
    wiring = engine.wiring
    again = LocalEngine(
        shards=wiring.shards,
        limits=wiring.limits,
        site=wiring.site,
        secrets=wiring.secrets,
        seal=wiring.seal,
    )
    again.batch, again.union = engine.batch, list(engine.union)
    for number, entries in enumerate(engine.entries):
        store = MemoryStore()
        for entry in entries:
            replay(open_shard(number, len(engine.stores), store, engine.limits), entry)
        again.stores[number] = store
    return again


def content(store):
    return {name: array.tobytes() for name, array in store.arrays()}, dict(store.blobs())
