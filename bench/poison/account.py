"""What has to become of each message, beside what became of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable
from typing import Any, Self

import orjson
from confluent_kafka import Consumer, TopicPartition

from bench.decode import messages as as_messages
from bench.fuzz_scanner import plainly
from bench.site import DATA, OUTPUT, REQUESTS
from sde.decoding import Limits
from sde.infore.replies import text_or_none
from sde.records.asked import Asked, AskedInfore, Unreadable
from sde.stages.wiring import Wiring
from sde.testing.messages import messages as as_arrived

DEAD_LETTERS = "sde-dead-letters"
_INFORE = "INFORE "  # in front of names in that dialect

Place = tuple[int, int]  # partition and offset
Letter = tuple[int, int, int]  # partition, offset and line
Message = dict[str, Any]


class Tally:
    """How often something is expected, and how often it was found; in any order."""

    def __init__(self) -> None:
        self._open: Counter[Any] = Counter()
        self._known: set[Any] = set()
        self._lock = threading.Lock()
        self.expected = 0

    def expect(self, names: Iterable[Any]) -> None:
        with self._lock:
            for name in names:
                self.expected += 1
                self._known.add(name)
                self._note(name, 1)

    def found(self, name: Any) -> None:
        with self._lock:
            self._note(name, -1)

    def _note(self, name: Any, step: int) -> None:
        self._open[name] += step
        if not self._open[name]:
            del self._open[name]

    @property
    def missing(self) -> Counter[Any]:
        """What was not found yet."""
        with self._lock:
            return +self._open

    @property
    def surplus(self) -> Counter[Any]:
        """What was found more often than expected."""
        with self._lock:
            return Counter({n: -c for n, c in self._open.items() if c < 0 and n in self._known})

    @property
    def waiting(self) -> int:
        with self._lock:
            return sum(count for count in self._open.values() if count > 0)


class Replies:
    """The name under which each request is answered; the service's own ingest tells it."""

    def __init__(self) -> None:
        self._ingest = Wiring(shards=1).ingest()

    def name(self, payload: bytes, offset: int) -> str | None:
        """None for a message that gets no reply: what claims to be from another site."""
        (arrived,) = self._ingest.on_requests(as_arrived([payload], REQUESTS, 0, offset))
        match arrived:
            case Asked(request=request):
                return request.id
            case AskedInfore(message=message):
                return _INFORE + str(text_or_none(message.get("externalUID")))
            case Unreadable(id=name, position=position):
                return name or str(position)
            case _:
                return None

    def name_of(self, reply: Message) -> str | None:
        """None for an answer of a watch."""
        if "number" in reply or "ended" in reply:
            return None
        if "request" in reply:
            return str(reply["request"])
        return _INFORE + str(reply.get("relatedRequestIdentifier"))


def data_outcome(payloads: list[bytes]) -> tuple[Counter[str], list[tuple[int, int]]]:
    """Tuples by data set, and the letters as (message, line): as the plain reader has them."""
    decoded = plainly(as_messages(payloads), 1, Limits(), None)
    counts: Counter[str] = Counter()
    for block in decoded.blocks:
        counts[block.dataset] += len(block)
    return counts, [(int(str(x["offset"])), int(str(x["line"]))) for x in decoded.letters]


class Reader:
    """Reads a topic from its beginning in a thread of its own, committed messages only."""

    def __init__(self, servers: str, topic: str, on_message: Callable[[Message], None]) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "poison",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._on_message, self._enough = on_message, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._enough.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._enough.is_set():
            for message in self._consumer.consume(1000, 0.2):
                if message.error() is None:
                    self._on_message(orjson.loads(message.value()))


def replies_reader(
    servers: str, tally: Tally, asked: Container[str], kept: list[Message]
) -> Reader:
    """Counts the replies; those to the requests `asked` about good tuples are kept."""
    names = Replies()

    def on_reply(reply: Message) -> None:
        name = names.name_of(reply)
        if name in asked:
            kept.append(reply)
        elif name is not None:
            tally.found(name)

    return Reader(servers, OUTPUT, on_reply)


def letters_reader(servers: str, tally: Tally) -> Reader:
    def on_letter(letter: Message) -> None:
        if letter["topic"] == DATA:
            tally.found((letter["partition"], letter["offset"], letter["line"]))

    return Reader(servers, DEAD_LETTERS, on_letter)
