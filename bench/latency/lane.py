"""The read lane: a gateway beside the engine, what it is asked, and how much it answers."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import orjson

from bench.goals import Goal
from bench.latency.questions import COUNTED
from service.broker.ports import free_ports

_CONNECTIONS, _BATCHED_CONNECTIONS, _BATCH = 16, 2, 1000
_RATE_BESIDE = 200.0  # questions a second while the engine's throughput is measured
_SECONDS_TO_BEGIN = 60.0


@dataclass(frozen=True)
class LaneFigures:
    """Questions a second, and tuples a second without and with questions beside."""

    single: float
    batched: float
    alone: float
    asked_beside: float

    def goals(self) -> list[Goal]:
        lost = 100 * (1 - self.asked_beside / self.alone)
        return [
            Goal("lane, single questions over HTTP", self.single, 2000, "/s"),
            Goal("lane, batched questions over HTTP", self.batched, 20_000, "/s"),
            Goal("lane, throughput lost to 200 questions/s", lost, 5, " %", at_most=True),
        ]

    @property
    def line(self) -> str:
        return (
            f"lane: {self.single:,.0f} single questions/s, {self.batched:,.0f} in requests of "
            f"{_BATCH:,}; tuples/s {self.alone:,.0f} alone, {self.asked_beside:,.0f} with "
            f"{_RATE_BESIDE:.0f} questions/s beside"
        )


class LaneClient:
    """One connection to a gateway; every question has to be answered by the lane."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._http = HTTPConnection("127.0.0.1", port, timeout=_SECONDS_TO_BEGIN)

    def ask(self) -> int:
        """The batch that an answer is as of."""
        reply = self._question()
        assert "as_of" in reply, reply
        return reply["batch"]

    def wait(self) -> None:
        """Until the gateway is there, and its lane."""
        deadline = time.monotonic() + _SECONDS_TO_BEGIN
        while True:
            try:
                if "as_of" in self._question():
                    return
            except ConnectionRefusedError:
                self._http.close()
            if time.monotonic() > deadline:
                raise TimeoutError(f"no lane answers after {_SECONDS_TO_BEGIN:g} s")
            time.sleep(0.1)

    def _question(self) -> dict[str, int]:
        body = orjson.dumps({"stream": "S0001", "query": {"key": "T00001"}})
        headers = {"Content-Type": "application/json"}
        self._http.request("POST", f"/v1/synopses/{COUNTED}/estimate", body, headers)
        reply: dict[str, int] = orjson.loads(self._http.getresponse().read())
        return reply

    @contextlib.contextmanager
    def questions_beside(self, seconds: float) -> Iterator[None]:
        """`_RATE_BESIDE` questions a second, for so long or until the end of the block."""
        with self._asker(seconds, _CONNECTIONS, "--rate", str(_RATE_BESIDE)) as asker:
            try:
                yield
            finally:
                asker.terminate()

    def rates(self, seconds: float) -> tuple[float, float]:
        """Questions a second: single ones, and many in a request."""
        with self._asker(seconds, _CONNECTIONS) as asker:
            single = float(asker.communicate()[0])
        with self._asker(seconds, _BATCHED_CONNECTIONS, "--batch", str(_BATCH)) as asker:
            return single, float(asker.communicate()[0])

    def _asker(self, seconds: float, connections: int, *more: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "bench.latency.asker", str(self.port), str(seconds)]
        return subprocess.Popen(
            [*words, str(connections), *more], stdout=subprocess.PIPE, text=True
        )


@contextlib.contextmanager
def gateway(data_dir: Path) -> Iterator[LaneClient]:
    """A gateway beside the engine of a data folder, which lets one address ask as it likes."""
    port = free_ports()[0]
    config = data_dir.with_name("gateway.toml")
    config.write_text(f'[http]\nlisten = "127.0.0.1:{port}"\nrequests_per_second = 1e9\n')
    words = [sys.executable, "-m", "service.gateway", "--config", str(config)]
    with subprocess.Popen([*words, "--data-dir", str(data_dir)]) as process:
        try:
            client = LaneClient(port)
            client.wait()
            yield client
        finally:
            process.terminate()
