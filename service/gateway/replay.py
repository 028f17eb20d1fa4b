"""Answers of watches that were written before a stream of events came back to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import orjson
from confluent_kafka import Message as KafkaMessage

from clients.kafka_config import KafkaSettings
from clients.transport import Message
from service.gateway.topic_tail import TopicTail

_MOST_MESSAGES = 100_000  # of the output topic that are read again
_FEW_WATCHES = 8  # so many words are found in a message faster than it is read


class Position(NamedTuple):
    """The last answer that somebody has."""

    watch: str
    number: int


class Heard(NamedTuple):
    """A message of the output topic, and when it was written, in ms."""

    time: int
    reply: Message


class Tail(NamedTuple):
    """What the last messages of the output topic say of some watches."""

    heard: list[Heard]
    is_whole: bool  # nothing is left out between the first message and the topic's end


Replay = Callable[[frozenset[str]], Tail]  # waits for Kafka: to be called in a thread


def missed(tail: Tail, position: Position) -> tuple[list[Message], bool]:
    """What came after a position, in its order, and whether that is all of it.

    Numbers may be left out, so only an answer that is known already proves that nothing is lost.
    Of other watches the answers since that one was written come; one of them may come twice.
    """
    known = [
        each.time
        for each in tail.heard
        if each.reply["request"] == position.watch
        and "ended" not in each.reply
        and each.reply.get("number", 0) <= position.number
    ]
    since = max(known, default=0)
    later = [
        each
        for each in sorted(tail.heard, key=lambda each: each.time)
        if "number" in each.reply or "ended" in each.reply
        if each.time >= since
        and (each.reply["request"] != position.watch or _is_later(each.reply, position.number))
    ]
    return [each.reply for each in later], bool(known) and tail.is_whole


def _is_later(reply: Message, number: int) -> bool:
    return "ended" in reply or reply.get("number", 0) > number


class SharedReplay:
    """One reading for all streams of events that came back while the last one went on."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._wanted: set[str] = set()
        self._next: asyncio.Task[Tail] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def tail(self, watches: frozenset[str]) -> Tail:
        """What is there of these watches now, or a moment later."""
        self._wanted |= watches
        if self._next is None:
            self._next = asyncio.create_task(self._read())
        found = await asyncio.shield(self._next)
        return Tail(
            [each for each in found.heard if each.reply["request"] in watches], found.is_whole
        )

    async def _read(self) -> Tail:
        async with self._one_at_a_time:
            # Whoever comes from now on waits for the next reading.
            self._next, wanted, self._wanted = None, frozenset(self._wanted), set()
            return await asyncio.to_thread(self._replay, wanted)


class KafkaReplay:
    """The last messages of an engine's output topic, as far as number and time allow."""

    def __init__(self, settings: KafkaSettings, topic: str) -> None:
        self._tail = TopicTail(settings, topic, _MOST_MESSAGES)

    def __call__(self, watches: frozenset[str]) -> Tail:
        words = [orjson.dumps(watch)[1:-1] for watch in watches]
        heard: list[Heard] = []
        is_whole = self._tail.read(lambda message: heard.extend(_heard(message, words, watches)))
        return Tail(heard, is_whole)


def _heard(message: KafkaMessage, words: list[bytes], watches: frozenset[str]) -> list[Heard]:
    """The message if it is about one of the watches; `words` are their ids as they are written."""
    payload = message.value() or b""
    if len(words) <= _FEW_WATCHES and not any(word in payload for word in words):
        return []  # as most are about others
    try:
        reply = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return []
    watch = reply.get("request") if isinstance(reply, dict) else None
    if not isinstance(watch, str) or watch not in watches:
        return []
    is_ours = isinstance(reply.get("number", 0), int)  # other programs may write here, too
    return [Heard(message.timestamp()[1], reply)] if is_ours else []
