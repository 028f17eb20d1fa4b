"""Spark adapter for sde.stages.merge: bundles of partials in, messages for Kafka out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson
import pyarrow as pa

from service.settings import Topics
from service.stages.rows import LETTERS, REPORTS, WRITTEN_ARROW, record_batch


def merge_task(
    site: str, topics: Topics, checkpoint: str, secrets: Mapping[str, str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow; all partials of a request meet in one call of it."""

    def merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sde.federation.peers import Peers
        from sde.records.outgoing import Role
        from sde.records.partial import Partial, unbundle
        from sde.stages.merge import Merge
        from sde.wire.loop import decode_loop  # in the task: planning does not need them

        partials: list[Partial] = []
        reports: list[Any] = []
        rows: list[tuple[object, ...]] = []
        for batch in batches:
            what, bodies = batch.column("what").to_pylist(), batch.column("body").to_pylist()
            for kind, body in zip(what, bodies, strict=True):
                if kind == LETTERS:
                    rows += [
                        (topics.dead_letters, "", orjson.dumps(letter))
                        for letter in orjson.loads(body)
                    ]
                elif kind == REPORTS:
                    reports += [decode_loop(told, checkpoint) for told in orjson.loads(body)]
                else:
                    partials += unbundle(body)
        peers = Peers(site, secrets, own=checkpoint)
        stage = Merge(site, bool(topics.logging), checkpoint, peers)
        topic_of = {
            Role.OUTPUT: topics.output,
            Role.LOOP: topics.union,
            Role.OUTBOUND: topics.outbound,
            Role.LOG: topics.logging,
        }
        for message in (*stage.on_partials(partials), *stage.on_reports(reports)):
            rows.append((topic_of[message.role], message.key, message.value))
        if rows:
            yield record_batch(rows, WRITTEN_ARROW)

    return merge
