"""The three stages in one process: one call is one micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import orjson

from sde.decoding import Messages
from sde.decoding.schemas import Schemas
from sde.federation.frames import is_frame
from sde.limits import StateLimits
from sde.plugins.trust import OPEN, Trust
from sde.records.arrived import Arrived, for_all_shards, pack_arrived, unpack_arrived
from sde.records.loop import (
    Admit,
    Due,
    Loop,
    Noted,
    Report,
    Sourced,
    Tick,
    decode_loop,
    loop_bytes,
    pack_reports,
    unpack_reports,
)
from sde.records.outgoing import Outgoing, Topic
from sde.records.partial import Partial, bundle, unbundle
from sde.records.seal import LoopSeal
from sde.records.sources import SourceSet
from sde.requests.examining import admit, write
from sde.shard.shard import Shard
from sde.stages.ingest import Topics, refused_of
from sde.stages.maintain import open_shard
from sde.stages.wiring import Wiring
from sde.storage.store import MemoryStore
from sde.testing.messages import TIME, Payload, messages
from sde.tuples.block import Block
from sde.tuples.needs import NeedsByDataset
from sde.wire.sources import Source

Reply = dict[str, Any]  # as it stands on the output topic


class LocalEngine:
    """An engine without Spark and Kafka. Time stands still until `tick` moves it.

    `union` holds what goes round the loop with the next batch, `from_sites` the frames of other
    sites that it brings, `outbound` those for other sites with their names, `letters` the dead
    letters, `due` when the next tick is needed.
    Plug-ins are taken from anybody unless `trust` says otherwise. `schemas` is the registry that
    sources of Avro and Protobuf ask, `topics` tells what there is to be read.

    >>> engine = LocalEngine()
    >>> create = {"op": "create", "uid": "u", "dataset": "d", "kind": "count_min", "key": "k"}
    >>> engine.ask(**create)["status"]
    'ok'
    >>> engine.send("d", [("s", {"k": "a"}), ("s", {"k": "a"}), ("t", {"k": "b"})])
    >>> engine.ask(op="estimate", uid="u", query={"key": "a"})["value"]
    2.0
    """

    def __init__(
        self,
        shards: int = 3,
        *,
        limits: StateLimits | None = None,
        snapshots: str | Path | None = None,
        trust: Trust | None = None,
        site: str = "here",
        secrets: Mapping[str, str] | None = None,
        seal: LoopSeal | None = None,
        has_log: bool = False,
        schemas: Schemas | None = None,
        topics: Topics | None = None,
    ) -> None:
        self.wiring = Wiring(
            shards=shards,
            site=site,
            seal=seal or LoopSeal.new(),
            secrets=secrets or {},
            snapshots="" if snapshots is None else str(snapshots),
            has_log=has_log,
            limits=limits or StateLimits(),
            trust=trust or Trust(OPEN),
        )
        self.stores = [MemoryStore() for _ in range(shards)]
        self.union: list[Payload] = []
        self.from_sites: list[bytes] = []
        self.outbound: list[tuple[str, bytes]] = []
        self.letters: list[dict[str, Any]] = []
        self.entries: list[list[bytes]] = [[] for _ in range(shards)]  # the logs
        self.due: int | None = None
        self.sources = SourceSet()  # as batches are planned with
        self.wanted: NeedsByDataset | None = None  # of tuples, as the last batch had it
        self.batch = 0
        self.now = TIME  # when what comes from other sites arrives
        self._ingest = self.wiring.ingest(schemas, topics)
        self._offsets: dict[tuple[str, int], int] = {}

    @property
    def limits(self) -> StateLimits:
        return self.wiring.limits

    def shard(self, number: int) -> Shard:
        """Opened anew for each batch, as a worker that meets the shard for the first time does."""
        return open_shard(number, len(self.stores), self.stores[number], self.limits)

    # -- what a user does -------------------------------------------------------------------------

    def send(self, dataset: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """A batch with tuples: a stream and values each."""
        self.replies(data=[{"dataset": dataset, "stream": s, "values": v} for s, v in rows])

    def send_records(self, source: str, records: Sequence[Payload], partition: int = 0) -> None:
        """A batch with records of a topic that a source reads."""
        read = self.sources.find(source)
        assert read is not None, f"there is no source {source!r}"
        log, known = f"{source}/{read.source.topic}", len(self.letters)
        blocks = self._decoded(self._messages(records, log, partition, TIME), read.source)
        letters = self.letters[known:]
        self._run([refused_of(read, letters)] if letters else [], blocks)

    def ask(self, **request: Any) -> Reply:
        """A batch with one request; its reply."""
        (reply,) = self.run([{"id": "q", **request}]).values()
        return reply

    def tick(
        self, time: int, caught_up: bool = False, left: Mapping[str, int] | None = None
    ) -> Self:
        """What the clock says comes round with the next batch."""
        return self.tell(Tick(time=time, caught_up=caught_up, left=dict(left or {})))

    def tell(self, message: Loop) -> Self:
        """What a thread beside the query says comes round with the next batch."""
        self.union.append(loop_bytes(message, self.wiring.seal))
        return self

    @property
    def is_busy(self) -> bool:
        """Whether something comes with the next batch that nobody sends any more."""
        return bool(self.union or self.from_sites)

    def settle(self, most: int = 10) -> list[Reply]:
        """Batches without input until the loop is quiet; all replies."""
        replies: list[Reply] = []
        while self.is_busy and most:
            replies += self.replies()
            most -= 1
        assert not self.is_busy, "the loop does not come to rest"
        return replies

    def run(
        self,
        requests: Sequence[Payload] = (),
        data: Sequence[Payload] = (),
        partition: int = 0,
        time: int = TIME,
    ) -> dict[str, Reply]:
        """One batch; the replies by request id (of several, as watches give them, the last)."""
        return {reply["request"]: reply for reply in self.replies(requests, data, partition, time)}

    def replies(
        self,
        requests: Sequence[Payload] = (),
        data: Sequence[Payload] = (),
        partition: int = 0,
        time: int = TIME,
    ) -> list[Reply]:
        """One batch; all replies in their order."""
        written = self.written(requests, data, partition, time)
        return [orjson.loads(message.value) for message in written]

    # -- one batch --------------------------------------------------------------------------------

    def written(
        self,
        requests: Sequence[Payload] = (),
        data: Sequence[Payload] = (),
        partition: int = 0,
        time: int = TIME,
    ) -> list[Outgoing]:
        """One batch; the messages for the topics that clients read."""
        fetched = self._messages(data, "data", partition, time) if data else None
        arrived = self._arrived(requests, time)
        return self._run(arrived, self._decoded(fetched) if fetched is not None else [])

    def _run(self, arrived: list[Arrived], blocks: list[Block]) -> list[Outgoing]:
        partials, reports = self._maintain(arrived, blocks)
        merge = self.wiring.merge(self.batch)
        self.batch += 1
        messages = [*merge.on_partials(partials), *merge.on_reports(reports)]
        return [message for message in messages if not self._keep(message)]

    def _arrived(self, requests: Sequence[Payload], time: int) -> list[Arrived]:
        union, self.union = self.union, []
        arrived: list[Arrived] = []
        if union:
            found, letters = self._ingest.on_loop(self._messages(union, "union", 0, time))
            arrived += found
            self.letters += letters
        frames, self.from_sites = self.from_sites, []
        if frames:
            arrived += self._ingest.on_peers(self._messages(frames, "peers", 0, time))
        if requests:
            arrived += self._ingest.on_requests(self._messages(requests, "requests", 0, time))
        return arrived

    def _messages(
        self, payloads: Sequence[Payload], topic: str, partition: int, time: int
    ) -> Messages:
        offset = self._offsets.get((topic, partition), 0)
        self._offsets[topic, partition] = offset + len(payloads)
        return messages(payloads, topic, partition, offset, time)

    def _decoded(self, fetched: Messages, source: Source | None = None) -> list[Block]:
        """What ingest sends on: as much of the tuples as the last batch knew to be needed."""
        decoded = self._ingest.on_data(fetched, self.wanted, source)
        self.letters += decoded.letters

        @cache  # one for all blocks of a shard: what lacks something is read once
        def again(shard: int) -> Callable[[], list[Block]]:
            def read() -> list[Block]:
                whole = self._ingest.on_data(fetched, None, source).blocks
                return [block for block in whole if block.shard == shard]

            return read

        travelled = [Block.from_bytes(block.to_bytes()) for block in decoded.blocks]
        return [replace(block, read_again=again(block.shard)) for block in travelled]

    def _maintain(
        self, arrived: list[Arrived], blocks: list[Block]
    ) -> tuple[list[Partial], list[Report]]:
        partials: list[Partial] = []
        reports: list[Report] = []
        for number in range(len(self.stores)):
            own = [one for one in arrived if number == 0 or for_all_shards(one)]
            if not own and all(block.shard != number for block in blocks):
                continue  # as with Spark: a shard for which nothing came does not run
            stage = self.wiring.maintain(self.shard(number), self.batch)
            travelled = unpack_arrived(pack_arrived(own))
            partials += stage.on_batch(travelled, [b for b in blocks if b.shard == number])
            reports += unpack_reports(pack_reports(stage.reports))
            if stage.entry:
                self.entries[number].append(stage.entry)
            self.wanted = stage.wanted
        return unbundle(bundle(partials)), reports

    def _keep(self, message: Outgoing) -> bool:
        """Whether a message is for the engine itself, or for other sites."""
        match message.topic:
            case Topic.OUTBOUND:
                self.outbound.append((message.key, message.value))
            case Topic.LOOP:
                self._keep_loop(message.value)
            case Topic.OUTPUT | Topic.LOG:
                return False
        return True

    def _keep_loop(self, payload: bytes) -> None:
        body = self.wiring.seal.open(payload).body
        message = None if is_frame(body) else decode_loop(body)
        if isinstance(message, Due):
            self.due = message.at
        elif isinstance(message, Admit):
            self.tell(admit(message, self.wiring.trust, self.limits))
        elif isinstance(message, Noted):
            write(message)
        elif isinstance(message, Sourced):
            self.sources = message.sources
        else:
            self.union.append(payload)
