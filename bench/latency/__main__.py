"""python -m bench.latency: seconds from a question sent to its answer received.

Idle; at half load, while tuples come at half the pace the engine can take them at as they come, the
broker taking them in beside it; at half the pace it takes tuples at that lie ready, which is more;
from a create to the first answer; where the time goes; the same through the read lane, over HTTP,
with how much it answers and what that costs the engine; and how long `sde serve` takes until it is
ready, with everything downloaded and compiled. Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.batches import Batch
from bench.goals import verdict
from bench.latency.lane import LaneClient, LaneFigures, gateway
from bench.latency.questions import COUNTED, WHOLE, Asked, ask, create_and_ask, where_time_goes
from bench.latency.report import LANE_IDLE, LANE_LOADED, Latencies, write
from bench.machine import RESULTS, measured_on
from bench.serving import Serving, serving
from bench.throughput import engine as throughput
from bench.throughput.cases import PER_STREAM, Case
from bench.throughput.forms import JSON, again_and_again
from bench.throughput.topics import Loader, make_topic
from bench.throughput.tuples import DATASET, STREAMS, make_tuples
from clients import Client
from clients.engine_process import EngineProcess
from service.broker.embedded import EmbeddedBroker
from service.kafka.config import Config

_TOPIC = "latency"
_PACES = 3  # that are measured
_SECONDS_OF_MORE = 15.0  # than the engine can take
_SETTLE = 5.0  # seconds of load before the first question
_KEPT_UP = 0.95  # of the pace asked for: less is not half load


def lying_pace(engine: Serving, sde: Client, servers: str, count: int) -> float:
    """A Count-Min for each stream, filled; returns the pace the engine takes tuples at with such,
    when they all lie ready."""
    topic, tuples = f"{_TOPIC}-lying", make_tuples(min(count, 1_000_000))
    make_topic(servers, topic)
    loader = Loader(servers)
    load = loader.put(topic, again_and_again(JSON, tuples, count))
    loader.show()
    case = Case(PER_STREAM, JSON)
    _, *rates = (throughput.measure(engine, case, load) for _ in range(_PACES + 1))  # one warms up
    sde.create("count_min", dataset=DATASET, uid=COUNTED, key="trader", scope="stream")
    sde.create("count_min", dataset=DATASET, uid=WHOLE, key="trader")
    catch_up(engine, servers)
    return median(rates)


def catch_up(engine: Serving, servers: str) -> None:
    """Return when everything that was sent is read."""
    loader = Loader(servers)
    load = loader.put(_TOPIC, again_and_again(JSON, make_tuples(20 * STREAMS), 1))
    loader.show()
    throughput.wait_until_read(engine, load)


def live_pace(engine: Serving, servers: str, more: float) -> float:
    """The pace it takes tuples at while `more` come than it can take."""
    with under_load(servers, more, _SETTLE + _SECONDS_OF_MORE):
        before = len(engine.batches())
        time.sleep(_SECONDS_OF_MORE)
        first, *_, last = engine.batches()[before:]
    catch_up(engine, servers)
    return (_read(last) - _read(first)) / (last.ended - first.ended)


def _read(batch: Batch) -> int:
    return sum(offset for (topic, _), offset in batch.offsets.items() if topic == _TOPIC)


def question(sde: Client) -> int:
    """The batch that answered."""
    batch = sde.estimate(COUNTED, stream="S0001", key="T00001").batch
    assert batch is not None
    return batch


@contextmanager
def under_load(servers: str, rate: float, seconds: float) -> Iterator[list[float]]:
    """Tuples come meanwhile; the list holds, afterwards, the pace they came at."""
    words = [sys.executable, "-m", "bench.latency.pacer", servers, _TOPIC, str(rate), str(seconds)]
    reached: list[float] = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as pacer:
        assert pacer.stdout is not None
        pacer.stdout.readline()
        time.sleep(_SETTLE)
        yield reached
        reached.append(float(pacer.stdout.readline()))


def lane_figures(
    engine: Serving, servers: str, lane: LaneClient, lying: float, seconds: float
) -> LaneFigures:
    """What the lane answers, and the engine's pace with and without questions in turn."""
    single, batched = lane.rates(seconds)
    alone, beside = [], []
    for _ in range(_PACES):
        alone.append(live_pace(engine, servers, lying))
        with lane.questions_beside(10 * _SECONDS_OF_MORE):
            beside.append(live_pace(engine, servers, lying))
    return LaneFigures(single, batched, median(alone), median(beside))


def loaded(sde: Client, servers: str, rate: float, seconds: float) -> tuple[list[Asked], float]:
    """What was asked while tuples came, and the pace they came at."""
    with under_load(servers, rate, _SETTLE + seconds) as reached:
        deadline = time.monotonic() + seconds - 1
        asked = ask(lambda: question(sde), lambda _: time.monotonic() > deadline)
    if reached[0] < _KEPT_UP * rate:
        print(f"the load was {reached[0]:,.0f} tuples/s instead of {rate:,.0f}")
    return asked, reached[0]


def ready_seconds(folder: Path, times: int) -> list[float]:
    """As a user meets it: a new folder, the embedded broker, until it says `ready`."""
    taken = []
    for number in range(times):
        engine = EngineProcess(folder / f"ready-{number}")
        began = time.monotonic()
        engine.start()
        taken.append(time.monotonic() - began)
        engine.stop()
    return taken


def measure(folder: Path, questions: int, seconds: float, count: int, starts: int) -> Latencies:
    with EmbeddedBroker(folder / "broker") as broker:
        servers = broker.bootstrap_servers
        make_topic(servers, _TOPIC)
        kafka: Config = {"bootstrap.servers": servers}
        with (
            serving(folder / "engine", kafka, "latency", _TOPIC) as engine,
            engine.client() as sde,
        ):
            lying = lying_pace(engine, sde, servers, count)
            live = live_pace(engine, servers, lying)
            print(f"at most {live:,.0f} tuples/s, {lying:,.0f} if they lie ready", flush=True)
            asked = {"idle": ask(lambda: question(sde), lambda asked: asked >= questions)}
            asked["create to first answer, idle"] = create_and_ask(
                sde, DATASET, max(5, questions // 5)
            )
            loads = {}
            for setting, pace in (("half load", live), ("half of what lies ready", lying)):
                asked[setting], loads[setting] = loaded(sde, servers, pace / 2, seconds)
                catch_up(engine, servers)
            time.sleep(1)  # the engine writes its log a few times a second
            batches = engine.batches()
            with gateway(engine.process.folder) as lane:
                asked[LANE_IDLE] = ask(lane.ask, lambda asked: asked >= questions)
                with under_load(servers, live / 2, _SETTLE + seconds):
                    deadline = time.monotonic() + seconds - 1
                    asked[LANE_LOADED] = ask(lane.ask, lambda _: time.monotonic() > deadline)
                catch_up(engine, servers)
                figures = lane_figures(engine, servers, lane, lying, seconds / 4)
    ready = ready_seconds(folder, starts)
    stages = {name: where_time_goes(asked[name], batches) for name in ("idle", *loads)}
    return Latencies(lying, live, loads, asked, stages, ready, figures)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description=__doc__)
    parser.add_argument("--questions", type=int, default=200, help="asked of an idle engine")
    parser.add_argument("--seconds", type=float, default=60, help="of questions under load")
    parser.add_argument(
        "--tuples", type=int, default=6_000_000, help="of a turn that finds its pace"
    )
    parser.add_argument("--starts", type=int, default=3, help="times `sde serve` is started")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sde-bench-") as folder:
        found = measure(
            Path(folder), options.questions, options.seconds, options.tuples, options.starts
        )
    print("\n".join(found.lines()))
    write(found, measured_on(), options.results)
    return verdict(found.goals())


if __name__ == "__main__":
    sys.exit(main())
