"""python -m bench.idle: what an engine takes that has nothing to do, its broker with it.

An engine as a user starts it, with its embedded broker and a few synopses. Processor time and
memory (shared pages counted once) by what the processes are, and how long a question takes that
comes after a pause. Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.goals import Goal, verdict
from bench.latency.questions import Percentiles, ask
from bench.processes import bytes_held, processor_seconds
from clients import Client
from clients.engine_process import EngineProcess
from clients.processes import family

_DATASET = "Idle"
_SETTLE_SECONDS = 20.0  # after the last question, until nothing more is going on


def measure(folder: Path, seconds: float, questions: int) -> list[Goal]:
    with EngineProcess(folder / "data") as engine, Client(engine.bootstrap_servers) as sde:
        made = sde.create("count_min", dataset=_DATASET, uid="counted", key="k", scope="stream")
        sde.send_many(_DATASET, [(f"S{n % 50}", {"k": f"K{n % 7}"}) for n in range(5000)])
        answers = ask(
            lambda: made.estimate(stream="S1", key="K1").batch, lambda asked: asked >= questions
        )
        asked = Percentiles.of(answers[questions // 4 :])  # the first ones warm up
        pid = engine.pid
        time.sleep(_SETTLE_SECONDS)
        before, began = processor_seconds(pid), time.monotonic()
        time.sleep(seconds)
        used, passed = processor_seconds(pid), time.monotonic() - began
        held = bytes_held(pid)
        processes = len(family(pid))
    shares = {part: 100 * (used[part] - before[part]) / passed for part in sorted(used)}
    for part, share in shares.items():
        print(f"{part:16} {share:5.1f} % of a core  {held[part] / 1e9:5.2f} GB")
    print(f"{processes} processes; a question after a pause: p50 {asked.p50:.3f} s")
    return [
        Goal("processor of an idle engine", sum(shares.values()), 6, " % of a core", True),
        Goal("memory of an idle engine", sum(held.values()) / 1e9, 1.4, " GB", True),
        Goal("p95 of an idle question, through Kafka", asked.p95, 0.35, " s", True),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.idle", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of idling that are measured")
    parser.add_argument("--questions", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return verdict(measure(Path(folder), options.seconds, options.questions))


if __name__ == "__main__":
    sys.exit(main())
