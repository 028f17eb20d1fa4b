"""Tuples at a steady pace, from a process of its own. Which ones they are is known beforehand."""

from __future__ import annotations

import json
import multiprocessing
import time
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from typing import Any, Self

import numpy as np
from confluent_kafka import Producer
from numpy.typing import NDArray

from bench.site import DATA
from bench.throughput.tuples import PARTITIONS
from clients.lanes import lane_of

DATASET, STREAMS, KEYS = "faults", 200, 5_000
_CHUNK = 10_000
_TICK = 0.05  # seconds
_SECONDS_TO_DELIVER = 120.0


def stream_name(number: int) -> str:
    return f"s{number}"


def chunk(number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Streams and keys of the tuples from `number` * _CHUNK on."""
    rng = np.random.default_rng([9, number])
    return rng.integers(0, STREAMS, _CHUNK), rng.zipf(1.3, _CHUNK) % KEYS


def first(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Streams and keys of the first `count` tuples."""
    parts = [chunk(number) for number in range(-(-count // _CHUNK))]
    streams, keys = (np.concatenate([part[i] for part in parts]) for i in range(2))
    return streams[:count], keys[:count]


class Load:
    """Sends from enter until `stop`, whatever happens to the broker."""

    def __init__(self, servers: str, rate: int) -> None:
        spawn = multiprocessing.get_context("spawn")  # a Kafka client does not survive a fork
        self._enough, self._sent = spawn.Event(), spawn.Value("q", 0)
        self._process = spawn.Process(
            target=_send, args=(servers, rate, self._enough, self._sent), daemon=True
        )

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.kill()

    def stop(self) -> int:
        """End, and tell how many tuples were delivered: the first ones, each once."""
        self._enough.set()
        self._process.join(_SECONDS_TO_DELIVER)
        if self._process.exitcode != 0:
            raise RuntimeError(f"the load did not end: exit code {self._process.exitcode}")
        return int(self._sent.value)


def _send(servers: str, rate: int, enough: Event, sent: Synchronized[int]) -> None:
    config: dict[str, Any] = {
        "bootstrap.servers": servers,
        "enable.idempotence": True,
        "message.timeout.ms": 0,  # a broker that is away is waited for, however long
        "reconnect.backoff.max.ms": 500,
        "linger.ms": 5,
        "log_level": 0,
    }
    producer = Producer(config)
    lanes = [lane_of(DATASET, stream_name(i), PARTITIONS) for i in range(STREAMS)]
    count, started = 0, time.monotonic()
    while not enough.is_set():
        due = int(rate * (time.monotonic() - started))
        while count < due and not enough.is_set():
            at = count % _CHUNK
            if at == 0:
                streams, keys = (column.tolist() for column in chunk(count // _CHUNK))
            stream, key = streams[at], keys[at]
            values = {"k": key, "v": key / 8}
            message = {"dataset": DATASET, "stream": stream_name(stream), "values": values}
            try:
                producer.produce(DATA, json.dumps(message), partition=lanes[stream])
                count += 1
            except BufferError:
                producer.poll(_TICK)
        producer.poll(_TICK)
        if due - count > rate:  # the broker was away: go on, but do not make up for all of it
            started = time.monotonic() - count / rate
    if producer.flush(_SECONDS_TO_DELIVER):
        raise SystemExit("some tuples could not be delivered")
    sent.value = count
