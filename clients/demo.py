"""`sde demo`: 5000 stocks, summarised and asked while they trade, beside the exact answers.

Starts an engine of its own in a temporary folder, sends it tuples whose frequencies and
correlations are known, asks, and prints answer, bounds and exact value side by side. Exit code 0
means that every exact value lies within its bounds.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from clients.answers import Answer
from clients.client import Client
from clients.demo_data import WINDOW_SECONDS, Market
from clients.engine_process import EngineProcess

DATASET = "stocks"
_COUNT_SECONDS = 120.0
_ADDRESS = "127.0.0.1:8088"
_HTTP = ("--http", _ADDRESS)


def main() -> int:
    parser = argparse.ArgumentParser("sde demo", description=__doc__.split("\n\n")[0])
    parser.add_argument("--stocks", type=int, default=5000, help="streams (default: 5000)")
    parser.add_argument("--ticks", type=int, default=160, help="tuples of each (default: 160)")
    parser.add_argument("--serve", action="store_true", help="serve on, with a console, at the end")
    options = parser.parse_args()
    console = Console()
    market = Market(options.stocks, options.ticks)

    def say(line: str) -> None:
        console.print(line, style="dim", highlight=False)

    with (
        tempfile.TemporaryDirectory(prefix="sde-demo-") as folder,
        EngineProcess(Path(folder), *(_HTTP if options.serve else ()), say=say) as engine,
        Client(engine.bootstrap_servers, timeout=60) as sde,
    ):
        create(sde, market, console)
        seconds = send(sde, market, console)
        checks = ask(sde, market)
        is_right = report(checks, market, seconds, console)
        if options.serve:
            serve_on(console)
    return 0 if is_right else 1


def report(checks: list[Check], market: Market, seconds: float, console: Console) -> bool:
    """Print all answers; whether every exact value lies within its bounds."""
    console.print(as_table(checks))
    wrong = [check for check in checks if not check.holds]
    console.print(
        f"{market.tuples:,} tuples of {market.stocks} streams counted by "
        f"{market.stocks + 6} synopses in {seconds:.1f} s: "
        f"{market.tuples / seconds:,.0f} tuples/s; "
        f"{len(checks) - len(wrong)} of {len(checks)} answers within their bounds"
    )
    return not wrong


def serve_on(console: Console) -> None:
    """Leave the engine running until Ctrl-C, and say where to look at it."""
    console.print(f"It serves on, until Ctrl-C. Look at it: http://{_ADDRESS}/", highlight=False)
    try:
        signal.pause()
    except KeyboardInterrupt:
        console.print("ending")


def create(sde: Client, market: Market, console: Console) -> None:
    """One Count-Min for each stock, and one synopsis of each other kind for all."""
    started = time.monotonic()
    pending = [
        sde.submit_create(
            "count_min",
            dataset=DATASET,
            uid=f"traders of {stock}",
            key="trader",
            scope={"stream": stock},
            epsilon=0.02,
        )
        for stock in market.names
    ]
    whole: list[tuple[str, str, dict[str, Any]]] = [
        ("volume of traders", "count_min", {"key": "trader", "value": "volume", "epsilon": 0.001}),
        ("traders", "hyperloglog", {"key": "trader"}),
        ("traders by FM", "fm", {"key": "trader"}),
        ("trader filter", "bloom", {"key": "trader", "capacity": 50_000}),
        ("trader activity", "ams", {"key": "trader", "epsilon": 0.05}),
        (
            "correlations",
            "dft",
            {"value": "price", "scope": "stream", "window": WINDOW_SECONDS, "basic_window": 16},
        ),
    ]
    pending += [sde.submit_create(kind, dataset=DATASET, uid=u, **p) for u, kind, p in whole]
    for one in pending:
        one.result()
    console.print(f"{len(pending)} synopses created in {time.monotonic() - started:.1f} s")


def send(sde: Client, market: Market, console: Console) -> float:
    """All tuples; returns the seconds until the engine had counted them."""
    started = time.monotonic()
    with Progress(console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("sending and counting", total=2 * market.tuples)
        for table in market.tables():
            sde.send_table(DATASET, table)
            progress.advance(task, len(table["stream"]))
        while (counted := sde.describe("traders").tuples or 0) < market.tuples:
            progress.update(task, completed=market.tuples + counted)
            if time.monotonic() - started > _COUNT_SECONDS:
                raise SystemExit(f"only {counted} of {market.tuples} tuples were counted")
        progress.update(task, completed=2 * market.tuples)
    return time.monotonic() - started


@dataclass(frozen=True)
class Check:
    question: str
    answer: str
    bounds: str
    exact: str
    holds: bool


def ask(sde: Client, market: Market) -> list[Check]:
    checks = []
    for stock in market.names[:: max(1, market.stocks // 4)]:
        trader, exact = market.busiest_trader(stock)
        answer = sde.estimate(f"traders of {stock}", key=trader)
        checks.append(_number(f"trades of {trader} in {stock}", answer, exact))
    trader, volume = market.largest_trader()
    answer = sde.estimate("volume of traders", key=trader)
    checks.append(_number(f"volume of {trader} in all stocks", answer, volume))
    for uid in ("traders", "traders by FM"):
        answer = sde.estimate(uid)
        checks.append(_number(f"distinct traders ({uid})", answer, market.distinct_traders()))
    checks.append(_number("self-join size", sde.estimate("trader activity"), market.f2()))
    for trader, present in ((market.largest_trader()[0], True), ("nobody", False)):
        found = sde.estimate("trader filter", key=trader).value
        checks.append(Check(f"did {trader} trade?", str(found), "", str(present), found == present))
    pairs = sde.estimate("correlations", "pairs", threshold=0.9, negative=False)
    found_pairs = {tuple(sorted(pair[:2])) for pair in pairs.value}
    exact_pairs = market.correlated_pairs(0.9)
    checks.append(
        Check(
            "pairs with correlation >= 0.9",
            f"{len(found_pairs)} pairs",
            "none missing",
            f"{len(exact_pairs)} pairs",
            exact_pairs <= found_pairs,
        )
    )
    return checks


def _number(question: str, answer: Answer, exact: float) -> Check:
    lower, upper = float(answer.lower or 0), float(answer.upper or 0)
    return Check(
        question,
        f"{answer.value:,.1f}",
        f"{lower:,.1f} to {upper:,.1f}",
        f"{exact:,.1f}",
        lower <= exact <= upper,
    )


def as_table(checks: list[Check]) -> Table:
    table = Table("question", "answer", "bounds", "exact", "")
    for check in checks:
        mark = "[green]ok[/]" if check.holds else "[red]outside[/]"
        table.add_row(check.question, check.answer, check.bounds, check.exact, mark)
    return table


if __name__ == "__main__":
    sys.exit(main())
