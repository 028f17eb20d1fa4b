"""Tuples in a topic, all there before anybody reads the first.

They are written in one Kafka transaction, so a reader of committed messages sees nothing until
the last one is in, and then everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from confluent_kafka import Producer
from numpy.typing import NDArray

from bench.throughput.tuples import PARTITIONS
from clients.lanes import Parcel
from service.kafka.admins import admin
from service.kafka.config import PATIENCE_SECONDS
from service.kafka.logs import LogEnds
from service.kafka.topics import TopicSpec, ensure_topics

_AT_ONCE = 10_000  # messages handed to the producer
_TRANSACTION_SECONDS = 600


@dataclass(frozen=True)
class Load:
    """What was put into a topic: where it starts in each partition, and how many tuples the
    messages from there on hold together."""

    topic: str
    starts: list[int]
    counts: list[NDArray[np.int64]]

    @property
    def tuples(self) -> int:
        return sum(int(counts[-1]) for counts in self.counts)

    @property
    def ends(self) -> dict[int, int]:
        """By partition, the offset behind the last message."""
        each = zip(self.starts, self.counts, strict=True)
        return {partition: start + len(counts) for partition, (start, counts) in enumerate(each)}

    def of_source(self, name: str) -> Load:
        """The same as a source reads it: the engine's offsets are under its name, too."""
        return replace(self, topic=f"{name}/{self.topic}")

    def read(self, offsets: dict[tuple[str, int], int]) -> int:
        """Tuples before these offsets; other topics and what was there before do not count."""
        return sum(
            _before(counts, offsets.get((self.topic, partition), start) - start)
            for partition, (start, counts) in enumerate(zip(self.starts, self.counts, strict=True))
        )


def _before(counts: NDArray[np.int64], messages: int) -> int:
    """The transaction's own record has an offset too, behind the last message."""
    held = min(max(messages, 0), len(counts))
    return int(counts[held - 1]) if held else 0


def _quietly(servers: str) -> dict[str, str | int]:
    """Clients live on for a while after a broker that is stopped; what fails before is raised."""
    return {"bootstrap.servers": servers, "log_level": 0}


def make_topic(servers: str, topic: str, codec: str = "producer") -> None:
    """`codec` is how the broker keeps the messages; "producer": as they come."""
    config = {"max.message.bytes": str(16 << 20), "compression.type": codec}
    ensure_topics(_quietly(servers), [TopicSpec(topic, PARTITIONS, config)])


def drop_topics(servers: str, topics: list[str]) -> None:
    client = admin(_quietly(servers))
    for done in client.delete_topics(topics).values():
        done.result()


class Loader:
    """`put` writes, `show` makes visible what was put since."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._producer = Producer(
            {
                **_quietly(servers),
                "transactional.id": "bench",
                "transaction.timeout.ms": 1000 * _TRANSACTION_SECONDS,
                "linger.ms": 50,
                "batch.num.messages": 50_000,
                "batch.size": 1 << 20,
                "message.max.bytes": 16 << 20,
                "queue.buffering.max.messages": 1_000_000,
                "queue.buffering.max.kbytes": 256 << 10,
                "delivery.report.only.error": True,
            }
        )
        self._producer.init_transactions(60)
        self._open = False

    def put(self, topic: str, parcels: Iterable[Parcel]) -> Load:
        """Behind what is there; a topic is put into once before it is shown."""
        if not self._open:
            self._producer.begin_transaction()
            self._open = True
        starts = _ends(self._servers, topic)
        sizes: list[list[int]] = [[] for _ in starts]
        waiting: list[list[Parcel]] = [[] for _ in starts]
        for parcel in parcels:
            sizes[parcel.lane].append(parcel.tuples)
            waiting[parcel.lane].append(parcel)
            if len(waiting[parcel.lane]) == _AT_ONCE:
                self._send(topic, waiting[parcel.lane])
        for rest in waiting:
            self._send(topic, rest)
        return Load(topic, starts, [np.cumsum(each) for each in sizes])

    def show(self) -> None:
        self._producer.commit_transaction(300)
        self._open = False

    def _send(self, topic: str, parcels: list[Parcel]) -> None:
        """All of one partition; the list is empty afterwards."""
        waiting = [{"value": parcel.payload} for parcel in parcels]
        while waiting:
            self._producer.produce_batch(topic, waiting, partition=parcels[0].lane)
            waiting = [{"value": m["value"]} for m in waiting if "_error" in m]
            self._producer.poll(0.05 if waiting else 0)
        parcels.clear()


def _ends(servers: str, topic: str) -> list[int]:
    ends = LogEnds(_quietly(servers), [topic], PATIENCE_SECONDS).ends()
    return [ends[topic, partition] for partition in range(PARTITIONS)]
