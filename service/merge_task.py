"""Spark adapter for sde.stages.merge: bundles of partials in, messages for Kafka out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import orjson
import pyarrow as pa

from service.rows import LETTERS, WRITTEN_ARROW, record_batch


def merge_task(
    site: str, output: str, dead_letters: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow; all partials of a request meet in one call of it."""

    def merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from sde.framing import unpack  # in the task: planning does not need them
        from sde.partial import Partial
        from sde.stages.merge import Merge

        partials: list[Partial] = []
        rows: list[tuple[object, ...]] = []
        for batch in batches:
            what, bodies = batch.column("what").to_pylist(), batch.column("body").to_pylist()
            for kind, body in zip(what, bodies, strict=True):
                if kind == LETTERS:
                    rows += [
                        (dead_letters, "", orjson.dumps(letter)) for letter in orjson.loads(body)
                    ]
                else:
                    partials += map(Partial.from_bytes, unpack(body))
        rows += [(output, reply.key, reply.value) for reply in Merge(site).on_partials(partials)]
        if rows:
            yield record_batch(rows, WRITTEN_ARROW)

    return merge
