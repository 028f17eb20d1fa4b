"""What questions over three running sites send, against shipping the tuples to one of them.

Three engines, each with a broker of its own; 5000 streams over them, a tuple of each a second.
Every ten seconds one site is asked four questions about all of them. What travels is read from the
outbound topics of all sites: requests, contributions and their envelopes.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from confluent_kafka import Consumer, TopicPartition

from bench.federation.sites import NAMES, FederatedSite, running_sites
from bench.throughput.layouts import BYTES
from clients import Client

STREAMS, EVERY = 5000, 10
OUTBOUND = "sde-outbound"
_DATASET = "trades"
_PATIENCE = 300.0


@dataclass(frozen=True, slots=True)
class Asked:
    turns: int  # of questions, one every ten seconds
    questions: int
    bytes: int  # between the sites
    raw: int  # bytes of the tuples that the sites that were not asked get in that many turns
    wrong: int  # answers that were incomplete, or not about every tuple when all had come


def run(seconds: int) -> Asked:
    with (
        tempfile.TemporaryDirectory(prefix="sde-bench-") as folder,
        running_sites(Path(folder), say=_tell) as sites,
        ExitStack() as open_clients,
    ):
        clients = {
            name: open_clients.enter_context(site.client(120)) for name, site in sites.items()
        }
        return _measure(sites, clients, seconds)


def _tell(line: str) -> None:
    """What an engine says beside its usual progress is trouble."""
    if not line.startswith("sde: "):
        print(line, flush=True)


def _measure(sites: dict[str, FederatedSite], clients: dict[str, Client], seconds: int) -> Asked:
    here = clients[NAMES[0]]
    over: dict[str, Any] = {"sites": "*", "deadline": "60s"}
    for uid, kind, fields in _SYNOPSES:
        here.create(kind, dataset=_DATASET, uid=uid, **fields, **over)
    before = _sent(sites)
    sent: Counter[str] = Counter()
    keys: Counter[int] = Counter()
    ended = threading.Event()
    loads = [
        threading.Thread(target=_load, args=(client, number, ended, sent, keys), daemon=True)
        for number, client in enumerate(clients.values())
    ]
    began = time.monotonic()
    for load in loads:
        load.start()
    questions = wrong = 0
    turns = max(1, seconds // EVERY)
    for turn in range(1, turns + 1):
        time.sleep(max(0.0, began + turn * EVERY - time.monotonic()))
        pending = [here.submit_estimate(uid, **query, **over) for uid, query in _QUESTIONS]
        questions += len(pending)
        wrong += sum(bool(one.result().missing) for one in pending)
    ended.set()
    for load in loads:
        load.join()
    travelled = _sent(sites) - before
    wrong += _check(here, clients, sent, keys, over)
    # Counted by the pace, not by what was sent: a busy machine takes longer for a turn.
    away = sum(len(range(number, STREAMS, len(NAMES))) for number in range(1, len(NAMES)))
    return Asked(turns, questions, travelled, turns * EVERY * away * BYTES, wrong)


_SYNOPSES: list[tuple[str, str, dict[str, Any]]] = [
    ("counts", "count_min", {"key": "trader", "epsilon": 0.01}),
    ("traders", "hyperloglog", {"key": "trader"}),
    ("prices", "quantiles", {"value": "price"}),
    ("skew", "ams", {"key": "trader"}),
]
_QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("counts", {"key": "T00001"}),
    ("traders", {}),
    ("prices", {"q": 0.5}),
    ("skew", {}),
]


def _load(
    client: Client, number: int, ended: threading.Event, sent: Counter[str], keys: Counter[int]
) -> None:
    """A tuple of each stream of a site, every second."""
    rng = np.random.default_rng(number)
    streams = range(number, STREAMS, len(NAMES))
    began = time.monotonic()
    for second in itertools.count():
        traders = rng.zipf(1.3, len(streams)) % 20_000
        prices = rng.normal(100, 5, len(streams)).round(3)
        rows: Iterator[tuple[str, dict[str, Any]]] = (
            (f"S{s:04}", {"trader": f"T{t:05}", "price": p, "volume": 100})
            for s, t, p in zip(streams, traders.tolist(), prices.tolist(), strict=True)
        )
        client.send_many(_DATASET, list(rows))
        sent[NAMES[number]] += len(streams)
        keys[number] += int((traders == 1).sum())
        if ended.wait(max(0.0, began + second + 1 - time.monotonic())):
            return


def _check(
    here: Client,
    clients: dict[str, Client],
    sent: Counter[str],
    keys: Counter[int],
    over: dict[str, Any],
) -> int:
    """Once all tuples are counted: whether the answer is about all of them, within its bounds."""
    deadline = time.monotonic() + _PATIENCE
    for name, client in clients.items():
        while (client.describe("counts").tuples or 0) < sent[name]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} has not counted its tuples in {_PATIENCE:g} s")
            time.sleep(0.5)
    answer = here.estimate("counts", key="T00001", **over)
    exact = sum(keys.values())
    within = answer.lower <= exact <= answer.upper
    return int(bool(answer.missing) or answer.tuples != sum(sent.values()) or not within)


def _sent(sites: dict[str, FederatedSite]) -> int:
    """Bytes of all frames that left any site."""
    return sum(_topic_bytes(site.broker.bootstrap_servers) for site in sites.values())


def _topic_bytes(servers: str) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(OUTBOUND, 0, 0)])
    total = 0
    while True:
        message = consumer.poll(30)
        if message is None:
            raise TimeoutError(f"{OUTBOUND} cannot be read")
        if message.error() is not None:  # its end
            consumer.close()
            return total
        total += len(message.value() or b"")
