"""The three stages wired without Spark and Kafka: one call is one micro-batch."""

import json
from dataclasses import replace

import numpy as np

from sde.decoding import Limits, Messages
from sde.federation.frames import is_frame
from sde.federation.peers import Peers
from sde.limits import StateLimits
from sde.plugins.admission import admit
from sde.plugins.trust import OPEN, Trust
from sde.records.partial import bundle, unbundle
from sde.shard.versions import Library
from sde.stages.ingest import Ingest
from sde.stages.maintain import Maintain, open_shard
from sde.stages.merge import Merge
from sde.storage.store import MemoryStore
from sde.tuples.block import Block
from sde.wire.loop import decode_loop, loop_json


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
    def __init__(self, shards=3, limits=None, snapshots=None, trust=None, peers=None):
        self.trust = trust or Trust(OPEN)
        self.limits = limits or StateLimits()
        self.library = None if snapshots is None else Library(str(snapshots))
        self.stores = [MemoryStore() for _ in range(shards)]
        peers = peers or Peers("here")
        self.ingest = Ingest(shards, Limits(), self.library, peers=peers)
        self.merge = Merge(peers.site, peers=peers)
        self.outbound = []  # (site, frame)
        self.union = []
        self.due = None
        self.entries = [[] for _ in range(shards)]
        self.letters = []
        self.wanted = None  # of tuples, as the last batch had it
        self.batch = 0
        self.now = 1_700_000_000_000  # when what comes from elsewhere comes
        self._offsets = {}

    def shard(self, number):
        """Opened anew for each batch, as a worker that meets the shard for the first time does."""
        return open_shard(number, len(self.stores), self.stores[number], self.limits)

    def run(self, requests=(), data=(), partition=0, time=1_700_000_000_000):
        """One batch; the replies by request id (of several, as watches give them, the last)."""
        return {reply["request"]: reply for reply in self.replies(requests, data, partition, time)}

    def tick(self, time, **fields):
        """What the clock says comes round with the next batch."""
        self.union.append({"op": "tick", "checkpoint": "-", "time": time, **fields})
        return self

    def settle(self, most=10):
        """Batches without input until the loop is quiet; all replies."""
        replies = []
        while self.union and most:
            replies += self.replies()
            most -= 1
        assert not self.union, "the loop does not come to rest"
        return replies

    def replies(self, requests=(), data=(), partition=0, time=1_700_000_000_000):
        """One batch; all replies in their order."""
        union, self.union = self.union, []
        arrived = []
        if union:
            offset = self._next("union", 0, len(union))
            arrived += self.ingest.on_loop(messages(union, "union", offset=offset, time=time))
        if requests:
            arrived += self.ingest.on_requests(
                messages(
                    requests, "requests", offset=self._next("requests", 0, len(requests)), time=time
                )
            )
        blocks = []
        if data:
            offset = self._next("data", partition, len(data))
            blocks = self._blocks(messages(data, "data", partition, offset, time))
        partials, reports = [], []
        for number in range(len(self.stores)):
            stage = Maintain(self.shard(number), self.batch, self.library, self.trust)
            mine = [b for b in blocks if b.shard == number]
            heard = [a for a in arrived if number == 0 or not a.for_one_shard]
            partials += stage.on_batch(heard, mine)
            reports += [decode_loop(loop_json(report, "-"), "-") for report in stage.reports]
            if stage.entry:
                self.entries[number].append(stage.entry)
            self.wanted = stage.wanted
        self.batch += 1
        travelled = unbundle(bundle(partials))
        written = [*self.merge.on_partials(travelled), *self.merge.on_reports(reports)]
        for message in written:
            if message.role == "outbound":
                self.outbound.append((message.key, message.value))
            elif is_frame(message.value):
                self.union.append(message.value)
            elif message.role == "loop":
                told = json.loads(message.value)
                if told["op"] == "due":
                    self.due = told["at"]
                elif told["op"] == "admit":
                    admitted = admit(decode_loop(told, "-"), self.trust, self.limits)
                    self.union.append(loop_json(admitted, "-"))
                else:
                    self.union.append(told)
        return [json.loads(m.value) for m in written if m.role not in ("loop", "outbound")]

    def _blocks(self, came):
        """What ingest sends on: as much of the tuples as the last batch knew to be needed."""
        decoded = self.ingest.on_data(came, self.wanted)
        self.letters += decoded.letters

        def again(shard):
            return lambda: [b for b in self.ingest.on_data(came).blocks if b.shard == shard]

        read_again = [again(shard) for shard in range(len(self.stores))]
        travelled = [Block.from_bytes(block.to_bytes()) for block in decoded.blocks]
        return [replace(block, read_again=read_again[block.shard]) for block in travelled]

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
