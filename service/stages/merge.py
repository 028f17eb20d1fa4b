"""Spark adapter for sde.stages.merge: bundles of partials in, messages for Kafka out.

Figures for operators go on in rows of no topic, which the sink hands to the driver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import orjson
import pyarrow as pa
from msgspec import structs

from service.kafka.sink import FOR_THE_DRIVER
from service.settings import Topics
from service.stages.planted_death import meet
from service.stages.rows import (
    FIGURES,
    KAFKA_ROW_ARROW,
    LETTERS,
    REPORTS,
    batch_id,
    record_batch,
)

if TYPE_CHECKING:
    from sde.stages.wiring import Wiring


def merge_task(
    wiring: Wiring, topics: Topics
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow; all partials of a request meet in one call of it."""

    def merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # In the task: planning does not need them.
        from sde.records.figures import pack_figures
        from sde.records.loop import Report, unpack_reports
        from sde.records.outgoing import Topic
        from sde.records.partial import Partial, unbundle

        partials: list[Partial] = []
        reports: list[Report] = []
        rows: list[tuple[object, ...]] = []
        letters: Counter[str] = Counter()
        for batch in batches:
            what, bodies = batch.column("what").to_pylist(), batch.column("body").to_pylist()
            for kind, body in zip(what, bodies, strict=True):
                if kind == LETTERS:
                    for letter in orjson.loads(body):
                        rows.append((topics.dead_letters, "", orjson.dumps(letter)))
                        letters[letter["code"]] += 1
                elif kind == FIGURES:
                    rows.append((FOR_THE_DRIVER, "", body))
                elif kind == REPORTS:
                    reports += unpack_reports(body)
                else:
                    partials += unbundle(body)
        meet("merge", lambda: repr((partials, reports)).encode())
        stage = wiring.merge(batch_id())
        topic_of = {
            Topic.OUTPUT: topics.output,
            Topic.LOOP: topics.union,
            Topic.OUTBOUND: topics.outbound,
            Topic.LOG: topics.logging,
        }
        for message in (*stage.on_partials(partials), *stage.on_reports(reports)):
            rows.append((topic_of[message.topic], message.key, message.value))
        figures = structs.replace(stage.figures, letters=dict(letters))
        if letters or figures.replies:
            rows.append((FOR_THE_DRIVER, "", pack_figures(figures)))
        if rows:
            yield record_batch(rows, KAFKA_ROW_ARROW)

    return merge
