"""Rounds in which every contender has its turn, on one broker, from the same topics."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.secure_broker import SecureBroker
from bench.serving import serving
from bench.throughput import engine, peers
from bench.throughput.cases import EACH_KIND, Case
from bench.throughput.forms import FORMS, Form, again_and_again
from bench.throughput.peer_environment import PeersMissing, peer_python
from bench.throughput.peers import Peer, PeerFailed
from bench.throughput.report import ENGINE, Results
from bench.throughput.topics import Load, Loader, make_topic
from bench.throughput.tuples import Tuples, make_tuples

_PART_FOR_SLOW = 6  # also to warm up
_TURNS = 3  # of the engine: it reads a topic in a few seconds, others take ten or more
_AT_ONCE = 16 << 20  # bytes


class Bench:
    """The broker, the tuples, and what was measured."""

    def __init__(self, folder: Path, broker: SecureBroker, count: int) -> None:
        self._folder, self._broker, self._count = folder, broker, count
        self._servers = broker.plain.bootstrap_servers
        self.peer_python: Path | None = None
        self._tuples: list[Tuples] = make_tuples(min(count, 1_000_000))
        self._loads: dict[str, Load] = {}
        self._round = 0
        self.results = Results()
        self.skipped: list[str] = []

    def load(self, form: Form, part: int = 1) -> Load:
        """One topic for each form, loaded once and read by everybody, and one with a part of it."""
        topic = "-".join(re.findall(r"\w+", f"{form.name} {part}"))
        if topic not in self._loads:
            make_topic(self._servers, topic, form.codec)
            count = self._count * form.times_as_many // part
            loader = Loader(self._servers)
            put = loader.put(topic, again_and_again(form.name, self._tuples, count))
            loader.show()
            os.sync()  # nobody is measured while the system writes it to the disk
            self._loads[topic] = put
        return self._loads[topic]

    def _in_memory(self, load: Load) -> Load:
        """The same, with its log in the system's memory, where that of a live topic is: reading it
        from the disk would be the larger part of some measurements."""
        for log in self._folder.glob(f"broker/**/{load.topic}-*/*.log"):
            with log.open("rb", buffering=0) as file:
                while file.read(_AT_ONCE):
                    pass
        return load

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
        for listener in dict.fromkeys(FORMS[case.form].listener for case in cases):
            own = [case for case in cases if FORMS[case.form].listener == listener]
            self._measure_engine(listener, own)

    def _measure_peer(self, peer: Peer, python: Path) -> None:
        form = FORMS[peer.form]
        load = self.load(form, _PART_FOR_SLOW if peer.slow else 1)
        try:
            settings = self._broker.settings(form.listener)
            rate = peers.measure(peer, settings, self._in_memory(load), python)
        except PeerFailed as failed:
            self.skip(f"{peer.name}, {peer.form}: {failed}")
            return
        self._note(peer.name, peer.form, rate)

    def _measure_engine(self, listener: str, cases: list[Case]) -> None:
        """One engine for all cases, warm: it has run each case, and the synopses have read a part.

        Large states come last: deleted, they are still given back while the next case runs.
        """
        for form in {case.form for case in cases}:
            self.load(FORMS[form])
            self.load(FORMS[form], _PART_FOR_SLOW)
        name = f"round-{self._round}-{listener}"
        kafka = self._broker.settings(listener)
        with serving(self._folder / name, kafka, name, f"{name}-data") as running:
            for is_large in (False, True):
                alike = [case for case in cases if (case.synopses == EACH_KIND) == is_large]
                for case in alike:
                    engine.measure(running, case, self.load(FORMS[case.form], _PART_FOR_SLOW))
                for case in alike:
                    part = self.load(FORMS[case.form], _PART_FOR_SLOW)
                    load = self._in_memory(self.load(FORMS[case.form]))
                    turns = range(1 if is_large else _TURNS)
                    rate = median(engine.measure(running, case, load, part) for _ in turns)
                    self._note(f"{ENGINE}: {case.synopses}", case.form, rate)

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
        SecureBroker(Path(folder, "broker")) as broker,
    ):
        bench = Bench(Path(folder), broker, count)
        if any(peer.own_interpreter for peer in others):
            bench.install()
        for _ in range(rounds):
            bench.round(cases, others)
    return bench
