"""`make demo-federation`: three sites, each with an engine and a Kafka of its own, answer as one.

Each site gets trades of its own streams. A question at one of them is answered for all: by merged
synopses, not by tuples. Then one site dies in the middle of it. Exit code 0 means that every exact
value lies within its bounds and every site that should be in an answer is.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.federation.sites import NAMES, FederatedSite, running_sites
from bench.throughput.layouts import BYTES
from clients import Answer, Client

TUPLES, STREAMS = 40_000, 500  # of each site
_DATASET, _OVER = "trades", {"sites": "*", "deadline": "30s"}
_PATIENCE = 120.0

Row = tuple[str, str, str, str, str, bool]


def main() -> int:
    console = Console()
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="sde-demo-") as folder,
        running_sites(Path(folder)) as sites,
    ):
        console.print(f"three sites ready after {time.monotonic() - began:.0f} s", style="dim")
        clients = {name: site.client(120) for name, site in sites.items()}
        try:
            rows = _show(sites, clients, console)
        finally:
            for client in clients.values():
                client.close()
    table = Table("question", "answer", "exact", "bytes between sites", "missing")
    for *cells, _ in rows:
        table.add_row(*cells)
    console.print(table)
    good = sum(row[-1] for row in rows)
    console.print(f"{good} of {len(rows)} answers as they should be")
    return 0 if good == len(rows) else 1


def _show(
    sites: dict[str, FederatedSite], clients: dict[str, Client], console: Console
) -> list[Row]:
    here = clients[NAMES[0]]
    here.create("count_min", dataset=_DATASET, uid="trades", key="trader", epsilon=0.005, **_OVER)
    here.create("hyperloglog", dataset=_DATASET, uid="traders", key="trader", **_OVER)
    here.create("quantiles", dataset=_DATASET, uid="prices", value="price", **_OVER)
    traders, prices = _send(clients)
    raw = 2 * TUPLES * BYTES
    console.print(f"{3 * TUPLES:,} tuples; those of two sites are {raw:,} bytes", style="dim")
    counted = Counter(traders.tolist())
    top, most = counted.most_common(1)[0]
    median = float(np.quantile(prices, 0.5))
    rows = [
        _row(f"trades of T{top}", here.estimate("trades", key=f"T{top}", **_OVER), most),
        _row("distinct traders", here.estimate("traders", **_OVER), len(counted)),
        _row("median price", here.estimate("prices", q=0.5, **_OVER), round(median, 3)),
    ]
    sites[NAMES[2]].engine.kill()
    short: dict[str, Any] = {"sites": "*", "deadline": "5s"}
    answer = here.estimate("trades", "total", **short)
    rows.append(_row(f"all trades, {NAMES[2]} killed", answer, 2 * TUPLES, {NAMES[2]}))
    return rows


def _send(clients: dict[str, Client]) -> tuple[np.ndarray, np.ndarray]:
    """Tuples to each site; traders and prices of all of them, once they are counted."""
    rng = np.random.default_rng(4)
    traders, prices = rng.zipf(1.3, 3 * TUPLES) % 5000, rng.normal(100, 5, 3 * TUPLES).round(3)
    for number, (name, client) in enumerate(clients.items()):
        mine = slice(number * TUPLES, (number + 1) * TUPLES)
        rows = zip(traders[mine].tolist(), prices[mine].tolist(), strict=True)
        client.send_many(
            _DATASET,
            [
                (f"{name} {n % STREAMS}", {"trader": f"T{t}", "price": p})
                for n, (t, p) in enumerate(rows)
            ],
        )
    deadline = time.monotonic() + _PATIENCE
    for name, client in clients.items():
        while (client.describe("trades").tuples or 0) < TUPLES:
            if time.monotonic() > deadline:
                raise SystemExit(f"{name} has not counted its tuples in {_PATIENCE:g} s")
            time.sleep(0.3)
    return traders, prices


def _row(question: str, answer: Answer, exact: float, missing: set[str] | None = None) -> Row:
    told = answer.raw["sites"]
    between = sum(site["bytes"] for name, site in told.items() if name != NAMES[0])
    bounds = f"{answer.value:,.6g} ({answer.lower:,.6g} to {answer.upper:,.6g})"
    good = answer.lower <= exact <= answer.upper and set(answer.missing) == (missing or set())
    reasons = ", ".join(f"{site}: {why}" for site, why in answer.missing.items())
    return question, bounds, f"{exact:,}", f"{between:,}", reasons, good


if __name__ == "__main__":
    sys.exit(main())
