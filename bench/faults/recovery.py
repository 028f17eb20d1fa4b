"""How long 5000 Count-Min sketches take to come back, beside a fresh start of an empty engine."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bench.scale.cases import stream_name, tuples_of
from bench.site import DATA, Site, new_site
from bench.throughput.forms import again_and_again
from bench.throughput.topics import Loader
from bench.throughput.tuples import DATASET, STREAMS, Tuples
from clients import Client
from clients.processes import folder_bytes
from synopses import CountMin, Items

EPSILON, DELTA = 0.002, 0.01
FRESH, KILLED, BARE = "fresh and empty", "killed", "killed, arena gone"
_DISTINCT = 250_000
_SECONDS_FOR_REQUESTS = 300.0
_COMPARED = 50  # sketches, byte by byte


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the start of the process."""

    what: str
    ready: float
    answered: float  # a client's first question
    state_bytes: int  # in the checkpoint


def start(site: Site, what: str) -> Start:
    began = time.monotonic()
    site.engine.start()
    ready = time.monotonic() - began
    with site.client(_SECONDS_FOR_REQUESTS) as sde:
        sde.list("no such data set")
    answered = time.monotonic() - began
    return Start(what, ready, answered, folder_bytes(site.checkpoint / "state"))


def starts(tuples: int) -> Iterator[Start | str]:
    """A fresh start, one after a kill in the middle of a batch, and one without the arena, as on
    a machine that has never seen it. A text says what was wrong afterwards."""
    parts = tuples_of(STREAMS, min(tuples, _DISTINCT))
    with new_site() as site:
        yield start(site, FRESH)
        try:
            loader = Loader(site.servers)
            with site.client(_SECONDS_FOR_REQUESTS) as sde:
                params = {"epsilon": EPSILON, "delta": DELTA}
                sde.create(
                    "count_min", dataset=DATASET, uid="u", key="trader", scope="stream", **params
                )
                sent = _load(loader, parts, tuples)
                _wait(sde, sent)
            sent += _load(loader, parts, _DISTINCT)
            time.sleep(0.5)  # so that a batch is in the middle of something
            site.engine.kill()
            yield start(site, KILLED)
            with site.client(_SECONDS_FOR_REQUESTS) as sde:
                _wait(sde, sent)
                yield from _wrong(sde, parts, sent)
            site.engine.kill()
            shutil.rmtree(site.arena)
            yield start(site, BARE)
            with site.client(_SECONDS_FOR_REQUESTS) as sde:
                yield from _wrong(sde, parts, sent)
        finally:
            site.engine.kill()


def _load(loader: Loader, parts: list[Tuples], count: int) -> int:
    load = loader.put(DATA, again_and_again("json", parts, count))
    loader.show()
    return load.tuples


def _wait(sde: Client, count: int) -> None:
    deadline = time.monotonic() + _SECONDS_FOR_REQUESTS
    while (seen := sde.describe("u").tuples or 0) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{seen} of {count} tuples counted")
        time.sleep(0.2)


def _wrong(sde: Client, parts: list[Tuples], count: int) -> Iterator[str]:
    """Sketches that differ from a recomputation: all in their number of tuples, some in bytes."""
    described = sde.describe("u")
    if (described.tuples, described.streams) != (count, STREAMS):
        yield f"{described.tuples} tuples of {described.streams} streams, expected {count}"
    streams = np.concatenate([part.streams for part in parts])
    traders = np.concatenate([part.traders for part in parts])
    for number in range(0, STREAMS, STREAMS // _COMPARED):
        keys = [f"T{t:05}" for t in traders[streams == number].tolist()]
        once = Items.of(keys * (count // len(streams)))
        sketch = CountMin(epsilon=EPSILON, delta=DELTA)
        sketch.add(once)
        if sde.export("u", stream=stream_name(number)) != sketch.to_bytes():
            yield f"the sketch of stream {stream_name(number)} differs from a recomputation"
