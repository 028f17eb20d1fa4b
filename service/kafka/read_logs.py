"""The logs that a reader reads: its topics under their own names, those of sources as SOURCE/TOPIC.

A slash is in no topic's name. Two sources of one topic are two logs, each with offsets of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from sde.records.sources import ReadSource, SourceSet
from sde.wire.sources import EARLIEST, Source
from service.kafka.config import KafkaSettings
from service.kafka.logs import LogEnds
from service.kafka.offsets import SOURCES, Key, Offsets
from service.kafka.sources_file import SourcesFile


def topic_of(log: str) -> str:
    """
    >>> topic_of("trades/eu-trades"), topic_of("sde-data")
    ('eu-trades', 'sde-data')
    """
    return log.rpartition("/")[2]


def source_of(log: str) -> str:
    """The name of the source; "" for a topic that is read under its own name."""
    return log.rpartition("/")[0]


class ReadLogs:
    """`topics` are always read; with a `folder`, also those of the sources that its files name.

    Topics in `own`, which the engine uses itself, fit no pattern of a source.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        topics: Iterable[str],
        patience: float,
        discover_seconds: float,
        folder: Path | None,
        own: Collection[str] = (),
    ) -> None:
        self._topics, self._own = sorted(set(topics)), {*topics, *own}
        self._ends = LogEnds(kafka, self._topics, patience, discover_seconds)
        self._file = None if folder is None else SourcesFile(folder)
        self._sources = SourceSet()

    def sources(self) -> SourceSet:
        """As of now; the other methods go by what was told last."""
        if self._file is not None and (current := self._file.current()) is not self._sources:
            self._sources = current
            named = [one.source.topic for one in current.sources]
            exact = [topic for topic in named if "*" not in topic]
            patterns = [one.source for one in current.sources if "*" in one.source.topic]
            self._ends.look_for([*self._topics, *exact], lambda topic: self._fits(topic, patterns))
        return self._sources

    def planned_with(self, offsets: Offsets) -> SourceSet:
        """The sources of a batch that ends at these offsets."""
        return SourceSet() if self._file is None else self._file.read(offsets.get(SOURCES, 0))

    def initial(self) -> Offsets:
        """Where the topics begin that are always read."""
        own = [key for key in self._ends.partitions() if key[0] in self._topics]
        return self._ends.starts(own)

    def ends(self) -> Offsets:
        """How far each log can be read."""
        found = self._ends.ends()
        return {
            (log, partition): end
            for (topic, partition), end in found.items()
            for log in self._logs_of(topic)
        }

    def starts(self, logs: Iterable[Key]) -> Offsets:
        """The first offset that is there of each log."""
        keys = list(logs)
        found = self._ends.starts({(topic_of(log), partition) for log, partition in keys})
        return {(log, partition): found[topic_of(log), partition] for log, partition in keys}

    def entered(self, logs: Iterable[Key], version: int) -> Offsets:
        """Where reading begins in logs that no batch has read.

        Those of a source that is new since `version` begin where it says. What comes later to a
        source, a partition or a topic that fits its pattern, is read from its beginning.
        """
        entered: Offsets = {}
        for log, partition in logs:
            read = self._sources.find(source_of(log))
            key = (topic_of(log), partition)
            if read is None or read.since <= version:
                entered[log, partition] = self._ends.starts([key])[key]
            else:
                entered[log, partition] = self._begin(read, key)
        return entered

    def is_read(self, log: str) -> bool:
        """Whether a log that was read before is still to be read."""
        name = source_of(log)
        if not name:
            return True
        read = self._sources.find(name)
        return read is not None and read.source.reads(topic_of(log))

    def begins_anew(self, log: str, version: int) -> bool:
        """Whether the log is of a source that says from where since that version."""
        read = self._sources.find(source_of(log))
        return read is not None and read.since > version

    def _begin(self, read: ReadSource, key: Key) -> int:
        begins = read.source.begins_at
        earliest = self._ends.starts([key])[key]
        if isinstance(begins, dict):
            return min(max(begins.get(key[1], earliest), earliest), self._ends.ends_of([key])[key])
        if read.source.start == EARLIEST:
            return earliest
        return self._ends.at_time([key], read.at if begins is None else begins)[key]

    def _logs_of(self, topic: str) -> list[str]:
        logs = [topic] if topic in self._topics else []
        return logs + [
            f"{one.source.name}/{topic}" for one in self._sources.sources if self._reads(one, topic)
        ]

    def _reads(self, one: ReadSource, topic: str) -> bool:
        is_own = "*" in one.source.topic and topic in self._own
        return not is_own and one.source.reads(topic)

    def _fits(self, topic: str, patterns: list[Source]) -> bool:
        return topic not in self._own and any(source.reads(topic) for source in patterns)
