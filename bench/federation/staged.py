"""Sites made of the engine's stages alone, tick by tick: what travels, and what would be exact.

The stages and the frames are those of a running engine; only Spark and Kafka are left out, so that
all sites stand still while the exact value of a tick is computed.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import orjson

from sde.decoding import Limits, Messages
from sde.federation.frames import REQUEST, is_frame
from sde.federation.peers import Peers
from sde.limits import StateLimits
from sde.records.outgoing import Role
from sde.stages.ingest import Ingest
from sde.stages.maintain import Maintain, open_shard
from sde.stages.merge import Merge
from sde.storage.store import MemoryStore
from sde.tuples.block import Block

START = 1_700_000_000_000


def messages(payloads: list[bytes], topic: str, offset: int, time: int) -> Messages:
    lengths = np.array([len(p) for p in payloads], np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    return Messages(
        topic=topic,
        partition=0,
        buffer=np.frombuffer(b"\n".join([*payloads, b""]), np.uint8),
        starts=starts,
        ends=starts + lengths,
        offsets=offset + np.arange(len(payloads)),
        timestamps=np.full(len(payloads), time, np.int64),
    )


class StagedSite:
    """One site with one shard; a call of `run` is a micro-batch."""

    def __init__(self, name: str, names: tuple[str, ...]) -> None:
        secrets = {other: "-".join(sorted((name, other))) for other in names if other != name}
        peers = Peers(name, secrets, own=f"only {name}")
        self._ingest = Ingest(1, Limits(), peers=peers)
        self._merge = Merge(name, peers=peers)
        self._shard = open_shard(0, 1, MemoryStore(), StateLimits())
        self._batch = 0
        self._offsets: dict[str, int] = {}
        self.union: list[bytes] = []
        self.requests: list[bytes] = []
        self.outbound: list[tuple[str, bytes]] = []

    @property
    def busy(self) -> bool:
        return bool(self.union or self.requests)

    def run(self, time: int, tuples: bytes = b"") -> list[dict[str, Any]]:
        """The replies; `tuples` are lines of JSON."""
        union, self.union = self.union, []
        requests, self.requests = self.requests, []
        arrived = [
            *(self._ingest.on_loop(self._read("union", union, time)) if union else ()),
            *(self._ingest.on_requests(self._read("requests", requests, time)) if requests else ()),
        ]
        blocks: list[Block] = []
        if tuples:
            blocks = self._ingest.on_data(self._read("data", [tuples], time)).blocks
        stage = Maintain(self._shard, self._batch)
        partials = stage.on_batch(arrived, blocks)
        self._batch += 1
        replies = []
        for message in self._merge.on_partials(partials):
            if message.role == Role.OUTBOUND:
                self.outbound.append((message.key, message.value))
            elif message.role == Role.LOOP:
                self.union.append(message.value)
            else:
                replies.append(orjson.loads(message.value))
        return replies

    def _read(self, topic: str, payloads: list[bytes], time: int) -> Messages:
        offset = self._offsets.get(topic, 0)
        self._offsets[topic] = offset + len(payloads)
        return messages(payloads, topic, offset, time)

    def tick(self, time: int) -> None:
        told = {"op": "tick", "checkpoint": "-", "time": time}
        self.union.append(json.dumps(told).encode())


class StagedSites:
    """`bytes` went between the sites so far."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.sites = {name: StagedSite(name, names) for name in names}
        self.bytes = 0
        self.frames = 0

    def ask(self, site: str, time: int, **request: Any) -> list[dict[str, Any]]:
        self.sites[site].requests.append(json.dumps(request).encode())
        return self.settle(time)[site]

    def settle(self, time: int) -> dict[str, list[dict[str, Any]]]:
        """Batches at all sites until nothing is under way."""
        replies: dict[str, list[dict[str, Any]]] = {name: [] for name in self.sites}
        while any(site.busy for site in self.sites.values()):
            for name, site in self.sites.items():
                if site.busy:
                    replies[name] += site.run(time)
            self._forward()
        return replies

    def _forward(self) -> None:
        for site in self.sites.values():
            waiting, site.outbound = site.outbound, []
            for to, frame in waiting:
                assert is_frame(frame)
                self.bytes += len(frame)
                self.frames += 1
                other = self.sites[to]
                (other.requests if frame.startswith(REQUEST) else other.union).append(frame)
