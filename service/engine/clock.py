"""The engine's clock: a thread that writes a tick to the union topic when one is needed.

Stages have no clock; time comes to them as messages, the same to all shards in the same batch.
After each tick (and when a request changes it) merge writes to the union topic when the next tick
is needed: for a watch, a lifetime, a window by arrival. While nothing needs one no tick is
written, so an idle engine runs no batches. The next tick is never written before the answer to the
last one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Message

from sde.records.loop import Due, Tick
from sde.records.seal import LoopSeal
from service.engine.follower import TopicFollower
from service.engine.loop_topic import LoopTopic
from service.kafka.config import consumer_config
from service.kafka.offsets import Offsets
from service.settings import Settings

_POLL_SECONDS = 0.1
_SILENCE_SECONDS = 30.0  # a tick that is not answered for so long may be lost: write another


class Clock(TopicFollower):
    """Runs in a thread of its own between `start` and `stop`.

    Time is the machine's at the start and then what passes: a clock that is set anew while the
    engine runs changes nothing. `left` is called in the thread, for each tick: how many messages
    are left to be read, by partition; empty as long as that is not known.
    """

    def __init__(self, settings: Settings, seal: LoopSeal, left: Callable[[], Offsets]) -> None:
        super().__init__(
            "clock",
            settings.topics.union,
            consumer_config(settings.kafka_config),
            poll_seconds=_POLL_SECONDS,
        )
        self._loop, self._left = LoopTopic(settings, seal), left
        self._control_topics = set(settings.topics.control)
        self._began = time.time() - time.monotonic()
        self._due: int | None = self._now()  # whether a tick is needed is not known yet
        self._has_ticked = False
        self._has_told_left = False  # what is left of each partition, once

    def on_poll(self, messages: list[Message]) -> bool:
        for message in messages:
            record = self._loop.read(message)
            # Before the first tick nothing tells a copy of an old word from a new one.
            if isinstance(record, Due) and self._has_ticked:
                self._due = record.at
        tick = self._tick()
        is_due = self._due is not None and self._due <= tick.time
        # The shards learn early which partitions there are: all count for a new data set.
        if is_due or (tick.left and not self._has_told_left):
            self._loop.write(tick, 0)
            self._due = tick.time + round(_SILENCE_SECONDS * 1000)
            self._has_ticked = True
            self._has_told_left |= bool(tick.left)
        return False

    def _tick(self) -> Tick:
        now, left = self._now(), self._left()
        of_data = {
            f"{topic}/{partition}": count
            for (topic, partition), count in left.items()
            if topic not in self._control_topics
        }
        caught_up = bool(left) and not any(left.values())
        return Tick(time=now, caught_up=caught_up, left=of_data)

    def _now(self) -> int:
        return round((self._began + time.monotonic()) * 1000)
