"""python -m bench.correlation: which stocks move together, asked of a running engine.

A 5-minute window at ten ticks a second, threshold 0.9, DFT with 8 coefficients. Beside the answer
stands numpy, which computes all pairs exactly from a window that lies ready in memory, and the kind
by itself, in this process. Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.correlation.alone import COEFFICIENTS, filled, make_dft
from bench.correlation.market import BASIC_WINDOW, INTERVAL, WINDOW, Market, exact_pairs
from bench.correlation.report import Found, goals, line, table, write
from bench.goals import verdict
from bench.machine import RESULTS, measured_on
from bench.rates import Spread, batch_rate
from bench.serving import Serving, serving
from bench.throughput.engine import wait_until_read
from bench.throughput.topics import Loader, make_topic
from bench.throughput.tuples import PARTITIONS
from clients import Answer, Client
from service.broker import EmbeddedBroker

THRESHOLD = 0.9
_TOPIC = "ticks"
_MOST_PAIRS = 200_000  # of an answer


def examine(engine: Serving, loader: Loader, stocks: int, rounds: int) -> Found:
    market = Market(stocks)
    load = loader.put(_TOPIC, market.parcels(PARTITIONS))
    with engine.client(_TOPIC) as sde:
        sde.create(
            "dft",
            dataset=market.dataset,
            uid=market.dataset,
            value="price",
            scope="stream",
            interval=INTERVAL,
            window=WINDOW,
            basic_window=BASIC_WINDOW,
            coefficients=COEFFICIENTS,
        )
        loader.show()
        rate = batch_rate(wait_until_read(engine, load))
        ask(sde, market)  # once for nothing: what is made at the first question is there then
        dft, bank = make_dft(), filled(market)
        asked, computed, alone = [], [], []
        for _ in range(rounds):
            began = time.monotonic()
            answer = ask(sde, market)
            asked.append(time.monotonic() - began)
            window = market.window
            began = time.monotonic()
            exact = exact_pairs(window, market.names, THRESHOLD)
            computed.append(time.monotonic() - began)
            began = time.monotonic()
            dft.pairs(bank, threshold=THRESHOLD, limit=_MOST_PAIRS)
            alone.append(time.monotonic() - began)
        sde.delete(market.dataset)
    found = {(min(pair[:2]), max(pair[:2])) for pair in answer.value}
    return Found(
        stocks=stocks,
        tuples_a_second=rate,
        asked=Spread.of(asked),
        computed=Spread.of(computed),
        alone=Spread.of(alone),
        faster=Spread.of([exact / ours for exact, ours in zip(computed, asked, strict=True)]),
        pairs=len(exact),
        recall=len(found & exact) / max(1, len(exact)),
        precision=len(found & exact) / max(1, len(found)),
    )


def ask(sde: Client, market: Market) -> Answer:
    return sde.estimate(market.dataset, "pairs", threshold=THRESHOLD, limit=_MOST_PAIRS)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.correlation", description=__doc__)
    parser.add_argument("--stocks", type=int, nargs="+", default=[50, 500, 5000, 20_000])
    parser.add_argument("--rounds", type=int, default=5, help="questions, and numpy's turns")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="sde-bench-") as folder,
        EmbeddedBroker(Path(folder, "broker")) as broker,
    ):
        servers = broker.bootstrap_servers
        make_topic(servers, _TOPIC)
        loader = Loader(servers)
        with serving(Path(folder, "engine"), servers, "correlation", [_TOPIC]) as engine:
            for stocks in options.stocks:
                found.append(examine(engine, loader, stocks, options.rounds))
                print(line(found[-1]), flush=True)
    print("\n".join(table(found)))
    write(found, measured_on(), options.results)
    return verdict(goals(found))


if __name__ == "__main__":
    sys.exit(main())
