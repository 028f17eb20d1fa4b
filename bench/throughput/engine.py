"""The engine's tuples a second: have it read a loaded topic, and look at its own log."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence

from bench.batches import Batch
from bench.rates import Mark, whole_rate
from bench.serving import Serving
from bench.throughput import cases
from bench.throughput.cases import Case
from bench.throughput.forms import FORMS
from bench.throughput.topics import Load

_SECONDS = 300.0


def measure(engine: Serving, case: Case, load: Load, before: Load | None = None) -> float:
    """Tuples a second with the synopses of the case; they, and the source, exist only meanwhile.

    What they read `before` is not measured: synopses that run have their files open.
    """
    loads = [load] if before is None else [before, load]
    with engine.client() as sde:
        uids = cases.create(sde, case.synopses)
        for each in loads:
            name = f"read-{uuid.uuid4().hex}"
            sde.add_source(name, topic=each.topic, start="earliest", **FORMS[case.form].mapping)
            rate = whole_rate(wait_until_read(engine, each.of_source(name)))
            sde.remove_source(name)
        seen, sent = sde.describe(uids[0]).tuples, sum(each.tuples for each in loads)
        if seen != sent:
            raise SystemExit(f"{case.name}: the engine counted {seen} of {sent}")
        cases.delete(sde, uids)
    return rate


def wait_until_read(engine: Serving, load: Load) -> list[Mark]:
    """When the engine began, and when it had read how many of the tuples."""
    deadline = time.monotonic() + _SECONDS
    while True:
        marks = progress(engine.batches(), load)
        if marks and marks[-1].tuples == load.tuples:
            return marks
        if time.monotonic() > deadline:
            done = marks[-1].tuples if marks else 0
            raise SystemExit(f"{done} of {load.tuples} tuples were read after {_SECONDS:g} s")
        time.sleep(0.1)


def progress(batches: Sequence[Batch], load: Load) -> list[Mark]:
    marks: list[Mark] = []
    for batch in batches:
        read = load.read(batch.offsets)
        if read and not marks:
            marks.append(Mark(batch.began, 0))
        if marks and read > marks[-1].tuples:
            marks.append(Mark(batch.ended, read))
    return marks
