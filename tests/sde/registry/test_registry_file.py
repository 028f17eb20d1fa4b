"""The registry's facts in a store: read alike by all, written anew when they have grown."""

import contextlib

import numpy as np
import pytest

from sde.limits import StateLimits
from sde.records.result import Done
from sde.records.watching import Watching
from sde.registry.registry import Registry
from sde.registry.registry_file import RegistryFile
from sde.storage.store import MemoryStore
from sde.wire import Definition, Refusal, Watch
from sde.wire.windows import Window

LIMITS = StateLimits(remembered_requests=5)


def opened(store):
    registry = Registry(LIMITS)
    file = RegistryFile(store, registry)
    file.read()
    return registry, file


WINDOW = Window("tumbling", size=1000, slide=1000)


def definition(n, **fields):
    window = WINDOW if n % 4 == 0 else None
    params = {"epsilon": 0.5 / (1 + n % 3)}
    return Definition("d", "count_min", params, key="k", window=window, **fields)


def watch(name, uid, **fields):
    request = Watch(id=name, uid=uid, query={"key": "a"}, **fields)
    return Watching(id=name, since=1_000, request=request)


def change_at_random(registry, rng, n):
    """One change of any sort; what is refused changes nothing."""
    uid, other = f"u{rng.integers(6)}", f"w{rng.integers(4)}"
    stream = [None, "s", "t"][rng.integers(3)]
    scope = "stream" if stream else ["dataset", "stream"][rng.integers(2)]
    wanted = definition(n, scope=scope, stream=stream)
    every = {"every": "1s"} if n % 2 else {"on": "change"}
    moment = int(rng.integers(10_000))
    changes = [
        lambda: registry.create(uid, wanted, n, reuse=bool(n % 2)),
        lambda: registry.create(uid, wanted, n, reuse=bool(n % 2)),
        lambda: registry.delete(uid),
        lambda: registry.remember(f"r{n}", Done(uid="newline\n\r\u2028", value=n)),
        lambda: registry.keep_version(uid, n),
        lambda: registry.tick(n * 400, bool(n % 2)),
        lambda: registry.advance("d", WINDOW.clock, moment, {f"p{n % 3}": (moment, n)}),
        lambda: registry.watch(watch(other, uid, **every)) if registry.find(uid) else None,
        lambda: registry.unwatch(other),
        lambda: registry.answered(other, n, [1.5, None, "x"], True),
    ]
    with contextlib.suppress(Refusal):
        changes[rng.integers(len(changes))]()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("smallest", [0, 2_000, 1 << 30])
def test_whoever_reads_the_file_knows_what_its_writer_knows(seed, smallest, monkeypatch):
    monkeypatch.setattr("sde.storage.fact_file._SMALLEST", smallest)
    rng = np.random.default_rng(seed)
    store = MemoryStore()
    writer, file = opened(store)
    follower, followed = opened(store)
    rewritten = 0
    for n in range(300):
        change_at_random(writer, rng, n)
        if n % 3 == 0:
            file.write()
            if not followed.only_grew:
                rewritten += 1
                follower, followed = opened(store)
            followed.read()
            assert list(follower.facts()) == list(writer.facts())
    assert bool(rewritten) == (smallest < 1 << 30)
    file.write()
    registry, _ = opened(store)
    assert list(registry.facts()) == list(writer.facts())
    assert registry._promised == writer._promised
    assert list(registry._patterns) == list(writer._patterns)
    assert registry._sharers == writer._sharers
    assert registry.watches.next_due() == writer.watches.next_due()


def test_two_that_read_decide_alike_from_then_on():
    """Also if one read the history and the other what it amounts to."""
    store, dense = MemoryStore(), MemoryStore()
    writer, file = opened(store)
    rng = np.random.default_rng(5)
    for n in range(200):
        change_at_random(writer, rng, n)
    file.write()
    again = Registry(LIMITS)
    for fact in writer.facts():
        again._change(*fact)
    RegistryFile(dense, again).write()
    one, two = opened(store)[0], opened(dense)[0]
    for n in range(200, 400):
        for registry, seed in ((one, n), (two, n)):
            change_at_random(registry, np.random.default_rng(seed), n)
        assert list(one.facts()) == list(two.facts())


def test_a_burst_that_still_counts_is_not_written_anew(monkeypatch):
    """All who know the file would have to read all of it again."""
    monkeypatch.setattr("sde.storage.fact_file._SMALLEST", 1_000)
    store = MemoryStore()
    registry, file = opened(store)
    _, known = opened(store)
    for n in range(200):
        stream = {"scope": "stream", "stream": f"s{n}"}
        registry.create(f"u{n}", definition(n, **stream), n)
        file.write()
    assert known.only_grew
    for n in range(200):
        registry.delete(f"u{n}")
    for n in range(1_000):
        registry.tick(n)
        file.write()
    assert not known.only_grew
    assert len(dict(store.blobs())["registry.facts"]) < 2_000


def test_nothing_is_written_when_nothing_changed():
    store = MemoryStore()
    _, file = opened(store)
    file.write()
    assert list(store.blobs()) == []


def test_the_file_stays_small_however_long_it_runs(monkeypatch):
    monkeypatch.setattr("sde.storage.fact_file._SMALLEST", 4_000)
    store = MemoryStore()
    registry, file = opened(store)
    registry.create("u", definition(0), 0)
    for n in range(3_000):
        registry.tick(n)
        file.write()
        assert len(dict(store.blobs())["registry.facts"]) < 8_000


def test_what_ended_before_is_not_told_by_who_reads_of_it():
    store = MemoryStore()
    writer, file = opened(store)
    writer.create("u", definition(0), 0)
    writer.watch(watch("w", "u", every="1s"))
    writer.delete("u")
    assert [one.id for one in writer.watches.ended] == ["w"]
    file.write()
    assert opened(store)[0].watches.ended == []


def test_reuse_finds_an_equal_synopsis_after_the_first_of_them_went():
    registry = Registry(LIMITS)
    for uid in ("a", "b"):
        registry.create(uid, definition(0), 0)
    registry.delete("a")
    instance, new = registry.create("c", definition(0), 0, reuse=True)
    assert (new, instance.uids) == (False, ["b", "c"])
