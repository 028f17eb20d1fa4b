"""What the engine does when the tasks of a batch die: it finds the one message that kills.

    the batch died ──> run it again ──> died again ──> plan it anew, in parts (`walk`)
                                                         │ a part passes: the next one
                                                         │ a part dies: smaller parts
                                                         v
                             a message that dies alone is passed over, and becomes a dead letter

A batch that died never happened for anybody: its replies are written in one transaction when all
its tasks have ended, and its state counts from then on. So it may be cut in other batches. The walk
goes in the order in which the stage maintain takes a batch: what the engine and other sites told
it, requests before the first that reads, tuples, further requests. So a synopsis and a question see
the same tuples as they would have in the batch.

Only the checkpoint, with the list of messages passed over, outlives the process: after a restart
everything begins again with the batch that is not done.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaException

from sde.records.position import Position
from service.engine.batch_log import BatchLog
from service.engine.deaths import comes_from_outside, reason
from service.engine.passed_over import PassedOver
from service.engine.query import Steering, last_written, sink_options
from service.engine.request_order import first_that_reads
from service.engine.walk import Range, Walk
from service.kafka.ends_file import EndsFile
from service.kafka.errors import KafkaFailure
from service.kafka.logs import LogEnds, waiting_helps
from service.kafka.offsets import Key, Offsets, of_logs
from service.kafka.read_logs import source_of
from service.settings import Settings
from service.startup_errors import StartupError

_MOST_IN_A_ROW = 3  # messages passed over without a batch that passes between: not the messages


class SafetyNet:
    """`on_death` is called when the query has ended, `follow` several times a second while it runs.

    Both are quick: finding a message takes many calls. While `busy` it is being looked for.
    """

    def __init__(self, settings: Settings, stop_file: Path, report: Callable[[str], None]) -> None:
        self._settings, self._stop_file, self._report = settings, stop_file, report
        self._log = BatchLog(settings.checkpoint)
        self._list = PassedOver(settings.checkpoint)
        self._ends_path = settings.data_dir.absolute() / "ends.json"
        self._ends_file = EndsFile(self._ends_path)
        self._ends_file.remove()
        self._walk: Walk | None = None
        self._died_last: tuple[int, int | None] | None = None  # the batch before, and the batch
        self._found: list[int] = []  # in which batches messages were passed over, one after another
        self._began = 0.0

    @property
    def busy(self) -> bool:
        return self._walk is not None

    @property
    def passed_over(self) -> int:
        """Messages in the life of the checkpoint."""
        return len(self._list)

    def steering(self) -> Steering:
        """For the next run of the query."""
        left_out = self._list.since(self._log.done() + 1)
        return Steering(self._stop_file, self._ends_path, left_out)

    def follow(self) -> None:
        """Say where the next part ends, if the last one is through."""
        walk = self._walk
        if walk is None or not walk.reached(self._log.ends(self._log.done())):
            return
        if walk.finished:
            self._walk = None
            self._ends_file.remove()
            seconds = time.monotonic() - self._began
            self._report(f"the messages of the batch that died are through after {seconds:.0f} s")
        else:
            self._ends_file.write(walk.ends())

    def on_death(self, failure: str) -> None:
        """Prepare the next run of the query; StartupError if another would end in the same way.

        KafkaFailure or KafkaException if brokers are away: then nothing has changed.
        """
        try:
            self._on_death(failure)
        except (KafkaFailure, KafkaException) as error:
            if waiting_helps(error):
                self._died_last = None
                raise
            raise self._ended(f"{reason(failure)}; {error}") from error

    def _on_death(self, failure: str) -> None:
        why = reason(failure)
        if comes_from_outside(failure):
            raise self._ended(why)
        done, batch = self._log.done(), self._log.pending()
        is_first = self._died_last != (done, batch)
        self._died_last = done, batch
        again = f"batch {done + 1} died and runs again: {why}"
        if is_first and self._walk is None:
            self._report(again)
        elif batch is None or self._is_written(batch):
            if not is_first:
                raise self._ended(why)
            self._report(again)
        elif self._walk is None:
            self._begin(batch, why)
        else:
            self._go_on(self._walk, batch, why)

    def _begin(self, batch: int, why: str) -> None:
        begins, ends = of_logs(self._log.ends(batch - 1)), of_logs(self._log.ends(batch))
        begins |= self._first([key for key in ends if key not in begins])
        # A batch does not read what is new of a source: it says where to begin.
        ranges = self._ranges(begins, {key: end for key, end in ends.items() if key in begins})
        count = sum(one.size for one in ranges)
        if not count:
            raise self._ended(why)
        self._report(f"batch {batch} died again; looking for the reason in {count} messages: {why}")
        self._began = time.monotonic()
        self._walk = Walk(ranges)
        self._plan_anew(batch, self._walk)

    def _go_on(self, walk: Walk, batch: int, why: str) -> None:
        walk.reached(self._log.ends(batch - 1))
        alone = walk.died()
        if alone is not None:
            self._pass_over(batch, alone, why)
        self._plan_anew(batch, walk)

    def _plan_anew(self, batch: int, walk: Walk) -> None:
        self._ends_file.write(walk.ends())
        self._log.forget(batch)
        self._died_last = None

    def _pass_over(self, batch: int, message: Position, why: str) -> None:
        if message in self._list.since(batch):  # it dies without the message
            raise self._ended(why)
        in_a_row = self._found and batch - self._found[-1] <= 1
        self._found = [*self._found, batch] if in_a_row else [batch]
        if len(self._found) > _MOST_IN_A_ROW:
            raise self._ended(
                f"{_MOST_IN_A_ROW} messages were passed over, the next dies too: {why}"
            )
        self._list.add(batch, message)
        self._report(
            f"PASSED OVER: topic {message.topic}, partition {message.partition}, offset "
            f"{message.offset} kills the process that handles it ({why}); it goes to the dead "
            f"letters. Messages passed over so far: {self.passed_over}"
        )

    def _ended(self, why: str) -> StartupError:
        logs = self._settings.data_dir / "logs" / "spark.log"
        return StartupError(f"the query ended: {why} (see {logs})")

    def _is_written(self, batch: int) -> bool:
        """Whether the replies of the batch are in Kafka: then it has to run as it was."""
        return last_written(self._settings) >= batch

    def _first(self, partitions: list[Key]) -> Offsets:
        """Where reading begins in partitions of own topics that no batch has read yet."""
        kafka, patience = self._settings.kafka_config, sink_options(self._settings).patience
        own = [key for key in partitions if not source_of(key[0])]
        return LogEnds(kafka, [topic for topic, _ in own], patience).starts(own)

    def _ranges(self, begins: Offsets, ends: Offsets) -> list[Range]:
        topics = self._settings.topics
        ranges = [
            Range(topic, partition, begins[topic, partition], end)
            for (topic, partition), end in sorted(ends.items())
        ]
        told = [one for one in ranges if one.topic in (topics.union, topics.peers)]
        asked = [one for one in ranges if one.topic == topics.requests]
        tuples = [one for one in ranges if one.topic not in topics.control]
        before, after = [], []
        for one in asked:
            reads = first_that_reads(self._settings.kafka_config, one)
            before.append(one._replace(end=reads))
            after.append(one._replace(start=reads))
        return [*told, *before, *tuples, *after]
