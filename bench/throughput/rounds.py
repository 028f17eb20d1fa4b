"""Rounds in which every contender has its turn, on one broker, with the same tuples."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.serving import Serving, serving
from bench.throughput import engine, peers
from bench.throughput.cases import Case
from bench.throughput.peer_environment import PeersMissing, peer_python
from bench.throughput.peers import Peer, PeerFailed
from bench.throughput.report import ENGINE, Results
from bench.throughput.topics import Load, Loader, drop_topics, make_topic
from bench.throughput.tuples import FORMS, TIMES_AS_MANY, Tuples, again_and_again, make_tuples
from service.broker.embedded import EmbeddedBroker

_PART_FOR_SLOW = 6


class Bench:
    """The broker, the tuples, and what was measured."""

    def __init__(self, folder: Path, servers: str, count: int) -> None:
        self._folder, self._servers, self._count = folder, servers, count
        self.peer_python: Path | None = None
        self._tuples: list[Tuples] = make_tuples(min(count, 1_000_000))
        self._loader = Loader(servers)
        self._loads: dict[str, Load] = {}
        self._round = 0
        self.results = Results()
        self.skipped: list[str] = []

    def load_for(self, peer: Peer) -> Load:
        """Loaded once, read by all peers that take this form."""
        topic = "peers-slow" if peer.slow else f"peers-{peer.form}"
        if topic not in self._loads:
            count = self.count(peer.form) // (_PART_FOR_SLOW if peer.slow else 1)
            make_topic(self._servers, topic)
            parcels = again_and_again(peer.form, self._tuples, count)
            self._loads[topic] = self._loader.put(topic, parcels)
            self._loader.show()
        return self._loads[topic]

    def count(self, form: str) -> int:
        return self._count * TIMES_AS_MANY[form]

    def install(self) -> None:
        """What peers need that are not of this environment."""
        try:
            self.peer_python = peer_python()
        except PeersMissing as missing:
            self.skip(str(missing))

    def round(self, cases: list[Case], others: list[Peer]) -> None:
        self._round += 1
        for peer in others:
            python = self.peer_python if peer.own_interpreter else Path(sys.executable)
            if python is not None:
                self._measure_peer(peer, python)
        if cases:
            self._measure_engine(cases)

    def _measure_peer(self, peer: Peer, python: Path) -> None:
        try:
            rate = peers.measure(peer, self._servers, self.load_for(peer), python)
        except PeerFailed as failed:
            self.skip(f"{peer.name}, {peer.form}: {failed}")
            return
        self._note(peer.name, peer.form, rate)

    def _measure_engine(self, cases: list[Case]) -> None:
        """One engine for all cases, warmed up in each form: one that runs for weeks is warm."""
        name = f"round-{self._round}"
        topics = {form: f"{name}-{form}" for form in FORMS}
        for topic in topics.values():
            make_topic(self._servers, topic)
        with serving(self._folder / name, self._servers, name, list(topics.values())) as running:
            for first in {case.form: case for case in reversed(cases)}.values():
                self._rate(running, first, topics)
            for case in cases:
                rate = self._rate(running, case, topics)
                self._note(f"{ENGINE}: {case.synopses}", case.form, rate)
        drop_topics(self._servers, list(topics.values()))

    def _rate(self, running: Serving, case: Case, topics: dict[str, str]) -> float:
        count, topic = self.count(case.form), topics[case.form]
        return engine.measure(running, self._loader, case, topic, self._tuples, count)

    def skip(self, reason: str) -> None:
        if reason not in self.skipped:
            self.skipped.append(reason)
            print(f"not measured: {reason}", flush=True)

    def _note(self, who: str, form: str, rate: float) -> None:
        self.results.add(who, form, self._round, rate)
        print(f"  round {self._round}: {who}, {form}: {rate:,.0f} tuples/s", flush=True)


def run(count: int, rounds: int, cases: list[Case], others: list[Peer]) -> Bench:
    """Measure; broker and topics exist only meanwhile."""
    with (
        tempfile.TemporaryDirectory(prefix="sde-bench-") as folder,
        EmbeddedBroker(Path(folder, "broker")) as broker,
    ):
        bench = Bench(Path(folder), broker.bootstrap_servers, count)
        if any(peer.own_interpreter for peer in others):
            bench.install()
        for _ in range(rounds):
            bench.round(cases, others)
    return bench
