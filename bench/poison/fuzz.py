"""Fuzzed messages on every topic, in rounds, while good tuples flow."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Message, Producer

from bench.faults.asking import Asking, not_answered_once
from bench.faults.check import wait_until_counted, wrong_answers, wrong_states
from bench.faults.load import DATASET, Load
from bench.fuzzing.frames import Frames
from bench.fuzzing.rows import Rows
from bench.poison.account import (
    Replies,
    Tally,
    data_outcome,
    letters_reader,
    replies_reader,
)
from bench.poison.raw_batches import RawProducer
from bench.poison.requests import DATASETS, Requests, import_request, import_target
from bench.poison.states import States
from bench.poison.union import Union
from bench.site import DATA, REQUESTS, Site
from bench.throughput.tuples import PARTITIONS
from clients import Client
from clients.processes import runs
from synopses import KINDS

UNION = "sde-union"
ROUND = 4_000  # messages, beside the imports
_SHARES = {"data": 0.6, "requests": 0.25, "union": 0.15}
_FRAMES, _BATCHES = 0.1, 0.02  # of the messages for data topics
_RATE = 1_000  # good tuples a second
_SECONDS = 300.0  # without any progress, after which an engine counts as stopped
_COUNTER = "poison counter of "  # uids that no fuzzed request names


@dataclass
class Outcome:
    """What was sent, and what is wrong."""

    sent: Counter[str] = field(default_factory=Counter)
    stops: int = 0
    replies: Tally = field(default_factory=Tally)
    letters: Tally = field(default_factory=Tally)
    tuples: Counter[str] = field(default_factory=Counter)  # expected, by data set
    miscounted: list[str] = field(default_factory=list)
    good: int = 0  # good tuples
    wrong: list[str] = field(default_factory=list)  # about them
    seconds: float = 0.0

    @property
    def unanswered(self) -> int:
        return sum(self.replies.missing.values()) + sum(self.replies.surplus.values())

    @property
    def unaccounted(self) -> int:
        letters = sum(self.letters.missing.values()) + sum(self.letters.surplus.values())
        return letters + len(self.miscounted)


class Stopped(Exception):
    """The engine ended, or does nothing any more."""


class Fuzzer:
    """Sends rounds of fuzzed messages and notes what has to become of each."""

    def __init__(self, site: Site, outcome: Outcome, seed: int) -> None:
        self._site, self._outcome = site, outcome
        self._producer = Producer(
            {"bootstrap.servers": site.servers, "linger.ms": 5, "message.max.bytes": 15 << 20}
        )
        self._rows, self._frames = Rows(seed), Frames(seed)
        self._requests, self._states = Requests(seed), States(seed)
        checkpoint = (site.checkpoint / "sde-query-name").read_text()
        self._union, self._names = Union(seed, checkpoint), Replies()
        self._raw = RawProducer(site.servers, DATA, seed)
        self._imports = 0

    def prepare(self, sde: Client) -> None:
        """The synopses that count tuples, and those that states are imported into."""
        creates = [
            {"uid": f"{_COUNTER}{name}", "dataset": name, "kind": "count_min", "key": "StockID"}
            for name in DATASETS
        ]
        creates += [import_target(cls) for cls in KINDS.values()]
        for pending in [sde.submit("create", **create) for create in creates]:
            pending.result()

    def round(self, messages: int, imports: int) -> None:
        """Send some messages of each topic; return when most replies are there."""
        count = {name: int(messages * share) for name, share in _SHARES.items()}
        self._send_data(count["data"])
        asked = [*self._requests.messages(count["requests"])]
        for _ in range(imports):
            cls, state = self._states.draw()
            self._imports += 1
            asked.append(import_request(cls, self._imports, state, self._imports % 3 > 0))
        self._send_requests(asked)
        for payload in self._union.messages(count["union"]):
            self._produce(UNION, payload, 0)
        self._outcome.sent += Counter(
            {**count, "requests": len(asked) - imports, "imports": imports}
        )
        self._producer.flush()
        self._wait(2 * len(asked))

    def finish(self, sde: Client) -> None:
        """Wait for all replies and letters, and compare the counts."""
        self._wait(0)
        for dataset in DATASETS:
            expected = self._outcome.tuples[dataset]
            counted = self._counted(sde, dataset, expected)
            if counted != expected:
                self._outcome.miscounted.append(f"{dataset}: {counted} of {expected} tuples")
        self._outcome.sent["record batches"] = self._raw.sent
        self._outcome.sent["record batches taken"] = self._raw.taken
        self._raw.close()

    def _counted(self, sde: Client, dataset: str, expected: int) -> int:
        deadline = time.monotonic() + 60
        while True:
            raw = sde.describe(f"{_COUNTER}{dataset}").raw
            counted = sum(int(raw[name]) for name in ("tuples", "skipped", "shed"))
            if counted >= expected or time.monotonic() > deadline:
                return counted
            time.sleep(0.5)

    def _send_data(self, count: int) -> None:
        frames = self._frames.frames(int(count * _FRAMES))
        payloads = [*frames, *self._lines(count - len(frames))]
        counts, letters = data_outcome(payloads)
        if counts[DATASET]:
            raise AssertionError("fuzzed tuples are among the good ones: use another seed")
        self._outcome.tuples += counts
        lines: dict[int, list[int]] = {}
        for place, line in letters:
            lines.setdefault(place, []).append(line)
        for place, payload in enumerate(payloads):
            self._produce(DATA, payload, place % PARTITIONS, lines.get(place, ()))
        self._raw.send(int(count * _BATCHES))

    def _lines(self, count: int) -> Iterable[bytes]:
        messages: list[bytes] = []
        while len(messages) < count:
            messages += self._rows.messages(count - len(messages))
        return messages

    def _send_requests(self, payloads: list[bytes]) -> None:
        for payload in payloads:

            def delivered(error: object, message: Message, payload: bytes = payload) -> None:
                assert error is None, error
                name = self._names.name(payload, message.offset())
                self._outcome.replies.expect([] if name is None else [name])

            self._producer.produce(REQUESTS, payload, partition=0, on_delivery=delivered)
            self._producer.poll(0)

    def _produce(
        self, topic: str, payload: bytes, partition: int, lines: Iterable[int] = ()
    ) -> None:
        """`lines`: those of the message that have to become dead letters."""

        def delivered(error: object, message: Message) -> None:
            assert error is None, error
            place = message.partition(), message.offset()
            self._outcome.letters.expect((*place, line) for line in lines)

        while True:
            try:
                self._producer.produce(topic, payload, partition=partition, on_delivery=delivered)
                break
            except BufferError:
                self._producer.poll(0.1)
        self._producer.poll(0)

    def _wait(self, most: int) -> None:
        """Until at most so many replies and letters are outstanding."""
        outcome = self._outcome
        before, since = -1, time.monotonic()
        while (waiting := outcome.replies.waiting + outcome.letters.waiting) > most:
            if not runs(self._site.engine.pid):
                raise Stopped("the engine ended")
            if waiting != before:
                before, since = waiting, time.monotonic()
            elif time.monotonic() - since > (_SECONDS if most else 60):
                if most:
                    raise Stopped(f"nothing happened for {_SECONDS:g} s, {waiting} are waiting")
                return
            time.sleep(0.1)


def fuzz(site: Site, messages: int, imports: int, seed: int) -> Outcome:
    """Everything, and the comparison; the engine of the site runs."""
    outcome, began = Outcome(), time.monotonic()
    answers: list[dict[str, Any]] = []
    rounds = max(1, -(-messages // ROUND))
    with (
        site.client(_SECONDS) as sde,
        Asking(site.servers, seed) as asking,
        Load(site.servers, _RATE) as load,
        replies_reader(site.servers, outcome.replies, asking.requests, answers),
        letters_reader(site.servers, outcome.letters),
    ):
        fuzzer = Fuzzer(site, outcome, seed)
        try:
            fuzzer.prepare(sde)
            for number in range(rounds):
                left = imports * (number + 1) // rounds - imports * number // rounds
                fuzzer.round(min(ROUND, messages - number * ROUND), left)
                if number % 10 == 9:
                    print(f"round {number + 1} of {rounds}: {_sent(outcome)}", flush=True)
            outcome.good = load.stop()
            asking.stop()
            fuzzer.finish(sde)
            wait_until_counted(sde, outcome.good)
            outcome.wrong = wrong_states(sde, outcome.good)
            outcome.wrong += not_answered_once(asking.requests, answers)
            outcome.wrong += wrong_answers(asking.requests, answers, outcome.good)
        except Stopped as stopped:
            outcome.stops += 1
            print(f"stopped: {stopped}", flush=True)
    outcome.seconds = time.monotonic() - began
    return outcome


def _sent(outcome: Outcome) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in outcome.sent.items())
