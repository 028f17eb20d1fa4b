"""Requests all the time, and what became of each."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from typing import Any, Self

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.faults.load import DATASET, KEYS, STREAMS, stream_name
from bench.site import OUTPUT, REQUESTS

KINDS = ("count_min", "hyperloglog", "moments")
SCOPES = ("dataset", "stream")
_PAUSE = 0.2  # seconds between requests
_CHURNED = 5  # synopses that are there for a while only

Message = dict[str, Any]


class Asking:
    """Creates the synopses of the test, then asks until `stop`."""

    def __init__(self, servers: str, seed: int) -> None:
        self._servers = servers
        self._rng = np.random.default_rng(seed)
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "reconnect.backoff.max.ms": 500,
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        self.requests: dict[str, Message] = {}
        self._sent: dict[str, float] = {}
        self._answered: list[tuple[float, float]] = []  # (arrived, sent) of replies, as they came
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=t, daemon=True) for t in (self._ask, self._listen)]

    def __enter__(self) -> Self:
        for kind in KINDS:
            for scope in SCOPES:
                self._create(f"{kind} {scope}", kind, scope)
        self._producer.flush()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._enough.set()
        for thread in self._threads:
            thread.join()
        self._producer.flush()

    def answered_after(self, moment: float) -> float | None:
        """When the first reply came to a request that was sent after `moment`."""
        return next((arrived for arrived, sent in self._answered if sent > moment), None)

    def _create(self, uid: str, kind: str, scope: str) -> None:
        field = {"value": "v"} if kind == "moments" else {"key": "k"}
        self._send(op="create", uid=uid, dataset=DATASET, kind=kind, scope=scope, **field)

    def _send(self, **fields: Any) -> None:
        name = f"r{len(self.requests)}"
        self.requests[name] = fields
        self._sent[name] = time.monotonic()
        self._producer.produce(REQUESTS, json.dumps({"id": name, **fields}))
        self._producer.poll(0)

    def _ask(self) -> None:
        alive: list[str] = []
        while not self._enough.wait(_PAUSE):
            draw = self._rng.random()
            if draw < 0.6:
                stream = stream_name(int(self._rng.integers(0, STREAMS)))
                key = int(self._rng.zipf(1.3)) % KEYS
                asked = {"type": "frequency", "key": key}
                self._send(op="estimate", uid="count_min stream", stream=stream, query=asked)
            elif draw < 0.8:
                self._send(op="estimate", uid="hyperloglog dataset", query={"type": "cardinality"})
            elif len(alive) < _CHURNED:
                alive.append(f"churn {len(self.requests)}")
                self._create(alive[-1], "count_min", "stream")
            else:
                self._send(op="delete", uid=alive.pop(0))

    def _listen(self) -> None:
        consumer = _consumer(self._servers)
        while not self._enough.is_set():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                sent = self._sent.get(json.loads(message.value()).get("request"))
                if sent is not None:
                    self._answered.append((time.monotonic(), sent))
        consumer.close()


def committed_replies(servers: str) -> list[Message]:
    """The whole output topic, as a reader of committed messages sees it."""
    consumer, replies = _consumer(servers), []
    while True:
        message = consumer.poll(30)
        if message is None:
            raise TimeoutError("the output topic cannot be read to its end")
        if message.error() is not None:
            consumer.close()
            return replies
        replies.append(json.loads(message.value()))


def not_answered_once(requests: dict[str, Message], replies: list[Message]) -> list[str]:
    """What is wrong with the number of replies, request by request."""
    answers = Counter(reply["request"] for reply in replies)
    return [
        f"request {name} ({fields['op']}) has {answers[name]} replies"
        for name, fields in requests.items()
        if answers[name] != 1
    ]


def _consumer(servers: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "faults",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(OUTPUT, 0, 0)])
    return consumer
