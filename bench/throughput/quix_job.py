"""The same in Quix Streams: rows of a data frame go into the sketch of their stream."""

from __future__ import annotations

import tempfile
from typing import Any

from datasketches import count_min_sketch
from quixstreams import Application

from bench.throughput.worker import COUNT_MIN, Job, Progress

_SECONDS_WITHOUT_MESSAGES = 3.0  # then all were read


class Sketches(dict[str, Any]):
    def __missing__(self, stream: str) -> Any:
        made = self[stream] = count_min_sketch(**COUNT_MIN)
        return made


def main() -> None:
    job = Job.from_arguments()
    sketches, progress = Sketches(), Progress()
    with tempfile.TemporaryDirectory() as state:
        _application(job, sketches, progress, state).run(timeout=_SECONDS_WITHOUT_MESSAGES)
    progress.print()


def _application(job: Job, sketches: Sketches, progress: Progress, state: str) -> Application:
    application = Application(
        broker_address=job.servers,
        consumer_group=job.name,
        state_dir=state,
        auto_offset_reset="earliest",
        loglevel="WARNING",
        consumer_extra_config={
            "fetch.queue.backoff.ms": 5,
            "fetch.message.max.bytes": 8 << 20,
            "queued.min.messages": 1_000_000,
        },
    )

    def count(row: dict[str, Any]) -> None:
        sketches[row["stream"]].update(row["values"]["trader"])
        progress.add(1)

    rows = application.dataframe(application.topic(job.topic, value_deserializer="json"))
    rows.update(count)
    return application


if __name__ == "__main__":
    main()
