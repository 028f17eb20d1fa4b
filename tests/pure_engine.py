"""The three stages wired without Spark and Kafka: one call is one micro-batch."""

import json

import numpy as np

from sde.decoding import Limits, Messages
from sde.limits import StateLimits
from sde.partial import Partial
from sde.shard import Shard
from sde.stages.ingest import Ingest
from sde.stages.maintain import Maintain
from sde.stages.merge import Merge
from sde.store import MemoryStore


def messages(payloads, topic="data", partition=0, offset=0, time=1_700_000_000_000):
    payloads = [p if isinstance(p, bytes) else json.dumps(p).encode() for p in payloads]
    lengths = np.array([len(p) for p in payloads], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths + 1)[:-1]]).astype(np.int64)
    return Messages(
        topic=topic,
        partition=partition,
        buffer=np.frombuffer(b"\n".join([*payloads, b""]), np.uint8),
        starts=starts,
        ends=starts + lengths,
        offsets=offset + np.arange(len(payloads)),
        timestamps=np.full(len(payloads), time, np.int64),
    )


def tuples(dataset, rows):
    return [{"dataset": dataset, "stream": s, "values": v} for s, v in rows]


class PureEngine:
    def __init__(self, shards=3, limits=None):
        self.limits = limits or StateLimits()
        self.stores = [MemoryStore() for _ in range(shards)]
        self.ingest = Ingest(shards, Limits())
        self.entries = [[] for _ in range(shards)]
        self.letters = []
        self.batch = 0
        self._offsets = {}

    def shard(self, number):
        """Opened anew for each batch, as a worker that meets the shard for the first time does."""
        return Shard(number, len(self.stores), self.stores[number], self.limits)

    def run(self, requests=(), data=(), partition=0):
        """One batch; the replies by request id."""
        arrived = []
        if requests:
            arrived = self.ingest.on_requests(
                messages(requests, "requests", offset=self._next("requests", 0, len(requests)))
            )
        blocks = []
        if data:
            offset = self._next("data", partition, len(data))
            decoded = self.ingest.on_data(messages(data, "data", partition, offset))
            blocks, self.letters = decoded.blocks, self.letters + decoded.letters
        partials = []
        for number in range(len(self.stores)):
            stage = Maintain(self.shard(number), self.batch)
            mine = [b for b in blocks if b.shard == number]
            partials += stage.on_batch(arrived, mine)
            if stage.entry:
                self.entries[number].append(stage.entry)
        self.batch += 1
        travelled = [Partial.from_bytes(p.to_bytes()) for p in partials]
        replies = [json.loads(r.value) for r in Merge("here").on_partials(travelled)]
        return {reply["request"]: reply for reply in replies}

    def ask(self, **request):
        (reply,) = self.run([{"id": "q", **request}]).values()
        return reply

    def _next(self, topic, partition, count):
        offset = self._offsets.get((topic, partition), 0)
        self._offsets[topic, partition] = offset + count
        return offset


def create(uid, kind="count_min", key="k", **fields):
    return {
        "id": f"c-{uid}",
        "op": "create",
        "uid": uid,
        "dataset": "d",
        "kind": kind,
        "key": key,
        **fields,
    }
