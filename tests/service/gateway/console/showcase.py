"""An engine with something to look at: streams that correlate, faults, batches, a full status."""

from __future__ import annotations

import json
import math
import random
import time
from pathlib import Path

from sde.testing import LocalEngine, LocalTransport
from sde.wire.status import STATUS_FILE, EngineStatus, encode_status

STREAMS = [
    f"{a}{b}"
    for a in ("EUR", "GBP", "AUD", "NZD", "CAD", "CHF")
    for b in ("USD", "JPY", "SEK", "NOK")
]
TRADERS = [f"trader-{number}" for number in range(40)]
FOREX = {"dataset": "Forex"}
SYNOPSES = (
    {"uid": "trades", "kind": "count_min", "key": "trader", **FOREX},
    {"uid": "trades-by-stream", "kind": "count_min", "key": "trader", "scope": "stream", **FOREX},
    {"uid": "prices", "kind": "quantiles", "value": "price", "scope": "stream", **FOREX},
    {"uid": "traders", "kind": "hyperloglog", "key": "trader", **FOREX},
    {
        "uid": "moving-together",
        "kind": "dft",
        "value": "price",
        "scope": "stream",
        "params": {"window": 60, "basic_window": 10},
        **FOREX,
    },
    {
        "uid": "last-minute",
        "kind": "moments",
        "value": "price",
        "window": {"size": "1m"},
        **FOREX,
    },
    {"uid": "visitors", "kind": "theta", "key": "user", "dataset": "shop"},
)


class LiveEngine(LocalEngine):
    """Its time is that of the clock."""

    def written(self, requests=(), data=(), partition=0, time=0):
        return super().written(requests, data, partition, now())


def now() -> int:
    return round(time.time() * 1000)


def create_all(engine: LocalEngine) -> None:
    engine.run([{"op": "create", "id": f"create {one['uid']}", **one} for one in SYNOPSES])
    source = {"op": "source", "id": "source", "name": "ticks", "topic": "ticks"}
    engine.run([{**source, "dataset": "Ticks", "stream": "symbol"}])
    engine.run([{"op": "snapshot", "id": "snapshot", "uid": "traders"}])
    engine.settle()


def send_prices(transport: LocalTransport, until: int, seconds: int = 90, seed: int = 1) -> None:
    """Prices of which the first letters move together, a tuple of each stream a second.

    They count from the next batch on.
    """
    random_ = random.Random(seed)
    walks = {stream[:3]: 0.0 for stream in STREAMS}
    for second in range(seconds):
        for name in walks:
            walks[name] += random_.gauss(0, 1)
        for place, stream in enumerate(STREAMS):
            price = 100 + walks[stream[:3]] + math.sin(second / 9) + random_.gauss(0, 0.15)
            values = {"trader": random_.choice(TRADERS[: 4 + place]), "price": price}
            tuple_ = {"dataset": "Forex", "stream": stream, "values": values}
            payload = json.dumps({**tuple_, "time": until - 1000 * (seconds - second)}).encode()
            for _ in range(2 if random_.random() < place / 28 else 1):
                transport.send_data(payload, lane=0)


def send_wrong(engine: LocalEngine) -> None:
    wrong = [
        b"{not json",
        b"\xff\xfe\x00",
        b'{"stream": "EURUSD"}',
        b'{"dataset": 7, "stream": "EURUSD", "values": {}}',
        b'{"dataset": "Forex", "stream": "EURUSD", "values": "1.07"}',
    ]
    engine.replies(data=wrong)


def write_files(folder: Path, limits: dict[str, int], rate: float = 48_200.0) -> None:
    """What an engine on this machine writes down: its status, and its batches."""
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    status = EngineStatus(
        pid=1,
        host="here",
        site="athens",
        state="running",
        since=now() - 5_400_000,
        written=now(),
        bootstrap_servers="127.0.0.1:9092",
        folders={"broker": "/secret/broker"},
        batches=4211,
        last_batch=_iso(now() - 400),
        messages_per_second=rate,
        lag=1_830,
        limits=limits,
    )
    (folder / STATUS_FILE).write_bytes(encode_status(status))
    random_ = random.Random(2)
    lines, offset = [], 0
    for number in range(120):
        offset += random_.randint(100, 60_000)
        run = 150 + offset % 700
        phases = {"latestOffset": 8, "queryPlanning": 35, "walCommit": 21, "addBatch": run}
        phases |= {"commitOffsets": 24, "triggerExecution": run + 92}
        lines.append(
            {
                "batch": 4092 + number,
                "at": _iso(now() - 1000 * (120 - number)),
                "milliseconds": phases,
                "offsets": {"sde-data": {"0": offset}},
                "passed_over": 0,
            }
        )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "logs" / "batches.jsonl").write_text(text)


def _iso(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms / 1000)) + f".{ms % 1000:03}Z"
