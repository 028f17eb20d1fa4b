"""python -m bench.profile: what a tuple costs, in processor time, and whom.

One engine with a Count-Min for each of 5000 streams reads the same tuples in each form, several
times over; the last time counts. Nanoseconds a tuple of the broker, of Spark's JVM, of the Python
processes that run tasks (fetch, decode, add) and of the others.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from bench.batches import read_batches
from bench.machine import RESULTS, in_one_line, measured_on
from bench.processes import processor_seconds, seconds_of
from bench.site import DATA, Site, new_site
from bench.tables import markdown_table
from bench.throughput import cases
from bench.throughput.cases import PER_STREAM
from bench.throughput.forms import ARROW, FORMS, IN_LINES, JSON, again_and_again
from bench.throughput.topics import Loader
from bench.throughput.tuples import Tuples, make_tuples
from clients.processes import family

_DISTINCT = 500_000
_HEADER = ("form", "tuples/s", "cores busy")


def main() -> int:
    parser = argparse.ArgumentParser("bench.profile", description=__doc__)
    parser.add_argument("--tuples", type=int, default=5_000_000, help="of a turn, one a message")
    parser.add_argument("--turns", type=int, default=4, help="of each form; the last one counts")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    with new_site() as site, site.engine, site.client(300) as sde:
        loader, parts = Loader(site.servers), make_tuples(_DISTINCT)
        cases.create(sde, PER_STREAM)
        for form in (JSON, IN_LINES, ARROW):
            count = given.tuples * FORMS[form].times_as_many
            for _ in range(given.turns):
                found[form] = _turn(site, loader, form, parts, count)
            print(f"{form}: {_told(found[form])}", flush=True)
    _write(found, measured_on(), given.results)
    return 0


def _turn(
    site: Site, loader: Loader, form: str, parts: list[Tuples], count: int
) -> dict[str, float]:
    load = loader.put(DATA, again_and_again(form, parts, count))
    before, used = len(read_batches(site.engine.folder)), _used(site)
    loader.show()
    read = site.batches_that_read(load, before)
    seconds = read[-1].ended - read[0].began
    spent = {part: now - used[part] for part, now in _used(site).items()}
    return {
        "tuples_a_second": load.tuples / seconds,
        "cores_busy": sum(spent.values()) / seconds,
        **{part: 1e9 * each / load.tuples for part, each in spent.items()},
    }


def _used(site: Site) -> dict[str, float]:
    engine = {process.pid for process in family(site.engine.pid)}
    broker = [p.pid for p in family(os.getpid()) if p.is_java and p.pid not in engine]
    return {"broker": sum(map(seconds_of, broker)), **processor_seconds(site.engine.pid)}


def _told(found: dict[str, float]) -> str:
    parts = [f"{part} {found[part]:.0f} ns" for part in list(found)[2:]]
    return f"{found['tuples_a_second']:,.0f} tuples/s, " + ", ".join(parts)


def _write(found: dict[str, dict[str, float]], machine: dict[str, str], folder: Path) -> None:
    """profile.json and profile.md."""
    folder.mkdir(parents=True, exist_ok=True)
    held: dict[str, Any] = {"measured_on": machine, "nanoseconds_a_tuple": found}
    (folder / "profile.json").write_text(json.dumps(held, indent=1) + "\n")
    parts = list(next(iter(found.values())))[2:]
    rows = [_row(form, each, parts) for form, each in found.items()]
    lines = [
        "# What a tuple costs",
        "",
        "Nanoseconds of processor time a tuple, by process, while an engine with a Count-Min for",
        "each of 5000 streams reads as fast as it can. `python -m bench.profile`.",
        "",
        in_one_line(machine),
        "",
        *markdown_table((*_HEADER, *parts), rows),
    ]
    (folder / "profile.md").write_text("\n".join(lines) + "\n")


def _row(form: str, found: dict[str, float], parts: list[str]) -> list[str]:
    rate, busy = f"{found['tuples_a_second']:,.0f}", f"{found['cores_busy']:.2f}"
    return [form, rate, busy, *(f"{found[part]:.0f}" for part in parts)]


if __name__ == "__main__":
    sys.exit(main())
