"""The same in Bytewax: tuples go, keyed by stream, to a stateful step that holds its sketch."""

from __future__ import annotations

from typing import Any

import bytewax.operators as op
import orjson
from bytewax.connectors.kafka import KafkaSource, KafkaSourceMessage
from bytewax.dataflow import Dataflow
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import cluster_main
from datasketches import count_min_sketch

from bench.throughput.worker import COUNT_MIN, Job, Progress

_AT_ONCE = 10_000  # messages


class Sketch(StatefulBatchLogic[str, None, bytes]):
    """The sketch of one stream."""

    def __init__(self, progress: Progress) -> None:
        self._sketch = count_min_sketch(**COUNT_MIN)
        self._progress = progress

    def on_batch(self, traders: list[str]) -> tuple[list[None], bool]:
        update = self._sketch.update
        for trader in traders:
            update(trader)
        self._progress.add(len(traders))
        return [], StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        return bytes(self._sketch.serialize())


class Nowhere(DynamicSink[None], StatelessSinkPartition[None]):
    """A dataflow must have a sink; nothing comes to this one."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Nowhere:
        return self

    def write_batch(self, items: list[None]) -> None:
        pass


def keyed(messages: list[KafkaSourceMessage[Any, Any]]) -> list[tuple[str, str]]:
    tuples = [orjson.loads(message.value) for message in messages]
    return [(each["stream"], each["values"]["trader"]) for each in tuples]


def main() -> None:
    job, progress = Job.from_arguments(), Progress()
    tuning = {"fetch.queue.backoff.ms": "5", "queued.min.messages": "1000000"}
    source = KafkaSource(
        [job.servers], [job.topic], tail=False, batch_size=_AT_ONCE, add_config=tuning
    )
    flow = Dataflow("bench")
    messages = op.input("messages", flow, source)
    traders = op.flat_map_batch("tuples", messages, keyed)
    counted = op.stateful_batch("count", traders, lambda _: Sketch(progress))
    op.output("nowhere", counted, Nowhere())
    cluster_main(flow, job.workers, job.number)
    progress.print()


if __name__ == "__main__":
    main()
