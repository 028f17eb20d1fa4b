"""python -m bench.correlation: which stocks move together, asked of a running engine.

A 5-minute window at ten ticks a second, threshold 0.9, DFT with 8 coefficients. One question is
asked by itself, then many at once, each with a threshold of its own. Beside the answers stands
numpy, which computes all pairs exactly from a window that lies ready in memory, and the kind by
itself, in this process. Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.correlation.alone import COEFFICIENTS, filled, make_dft
from bench.correlation.market import BASIC_WINDOW, INTERVAL, WINDOW, Market, exact_pairs
from bench.correlation.questions import (
    MOST_PAIRS,
    THRESHOLD,
    accuracy,
    ask_many,
    ask_one,
    thresholds,
    worst,
)
from bench.correlation.report import Found, Round, goals, line, table, write
from bench.goals import verdict
from bench.machine import RESULTS, measured_on
from bench.rates import batch_rate
from bench.serving import Serving, serving
from bench.throughput.engine import wait_until_read
from bench.throughput.topics import Loader, make_topic
from bench.throughput.tuples import PARTITIONS
from clients import Client
from service.broker.embedded import EmbeddedBroker
from service.kafka.config import Config

_TOPIC = "ticks"


def examine(engine: Serving, loader: Loader, stocks: int, rounds: int) -> Found:
    market = Market(stocks)
    load = loader.put(_TOPIC, market.parcels(PARTITIONS))
    with engine.client() as sde:
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
        measured = measure(sde, market, rounds)
        sde.delete(market.dataset)
    return Found.of(stocks, rate, measured)


def measure(sde: Client, market: Market, rounds: int) -> list[Round]:
    """In each round the engine is asked and numpy computes, one after the other."""
    uid, several = market.dataset, thresholds()
    ask_one(sde, uid)  # once for nothing: what is made at the first question is there then
    dft, bank = make_dft(), filled(market)
    known: dict[tuple[str, str], float] = {}
    measured = []
    for _ in range(rounds):
        answer, asked = ask_one(sde, uid)
        answers, all_asked = ask_many(sde, uid, several)
        window = market.window
        began = time.monotonic()
        exact = exact_pairs(window, market.names, THRESHOLD)
        computed = time.monotonic() - began
        began = time.monotonic()
        dft.pairs(bank, threshold=THRESHOLD, limit=MOST_PAIRS)
        alone = time.monotonic() - began
        known = known or market.correlations(exact)
        right = [accuracy(answer, known)]
        right += [accuracy(one, known, at) for one, at in zip(answers, several, strict=True)]
        pace = len(answers) / all_asked
        measured.append(Round(asked, pace, computed, alone, len(exact), worst(right)))
    return measured


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.correlation", description=__doc__)
    parser.add_argument("--stocks", type=int, nargs="+", default=[50, 500, 5000, 20_000])
    parser.add_argument("--rounds", type=int, default=5, help="of questions, and of numpy's turns")
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
        kafka: Config = {"bootstrap.servers": servers}
        with serving(Path(folder, "engine"), kafka, "correlation", _TOPIC) as engine:
            for stocks in options.stocks:
                found.append(examine(engine, loader, stocks, options.rounds))
                print(line(found[-1]), flush=True)
    print("\n".join(table(found)))
    write(found, measured_on(), options.results)
    return verdict(goals(found))


if __name__ == "__main__":
    sys.exit(main())
