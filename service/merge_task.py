"""Spark adapter for sde.stages.merge: bundles of partials in, messages for Kafka out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
import pyarrow as pa

from service.rows import LETTERS, REPORTS, WRITTEN_ARROW, record_batch


def merge_task(
    site: str, output: str, dead_letters: str, union: str, logging: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow; all partials of a request meet in one call of it."""

    def merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sde.framing import unpack  # in the task: planning does not need them
        from sde.messages.loop import decode_loop
        from sde.partial import Partial
        from sde.stages.merge import Merge, Role

        partials: list[Partial] = []
        reports: list[Any] = []
        rows: list[tuple[object, ...]] = []
        for batch in batches:
            what, bodies = batch.column("what").to_pylist(), batch.column("body").to_pylist()
            for kind, body in zip(what, bodies, strict=True):
                if kind == LETTERS:
                    rows += [
                        (dead_letters, "", orjson.dumps(letter)) for letter in orjson.loads(body)
                    ]
                elif kind == REPORTS:
                    reports += map(decode_loop, orjson.loads(body))
                else:
                    partials += map(Partial.from_bytes, unpack(body))
        stage = Merge(site, has_log=bool(logging))
        topic_of = {Role.OUTPUT: output, Role.LOOP: union, Role.LOG: logging}
        for message in (*stage.on_partials(partials), *stage.on_reports(reports)):
            rows.append((topic_of[message.role], message.key, message.value))
        if rows:
            yield record_batch(rows, WRITTEN_ARROW)

    return merge
