"""A gateway on a real socket, in front of an engine in this process."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest

from clients import Client
from clients.address import EngineFolder
from sde.testing import LocalEngine, LocalTransport, messages
from service.gateway.beside import Beside
from service.gateway.engine import EngineDoor
from service.gateway.replay import Heard, Tail
from service.gateway.server import GatewayServer, bind
from service.http_settings import HttpSettings


class OneTopic:
    """What a source may read: a topic with one record."""

    def names(self):
        return ["ticks"]

    def last_messages(self, request):
        return [messages([{"symbol": "EURUSD", "price": 1.07}], topic="ticks")]


class Recording(LocalTransport):
    """Keeps what the engine says, as its output topic does; `silent` says nothing."""

    def __init__(self, engine: LocalEngine) -> None:
        super().__init__(engine)
        self.heard: list[Heard] = []
        self.requests: list[dict] = []
        self.silent = False
        self.whole = True

    def listen(self, on_reply) -> None:
        def hear(reply):
            self.heard.append(Heard(len(self.heard), reply))
            if not self.silent:
                on_reply(reply)

        super().listen(hear)

    def send_request(self, request, on_failure) -> None:
        self.requests.append(request)
        super().send_request(request, on_failure)

    def replay(self, watches: frozenset[str]) -> Tail:
        found = [each for each in self.heard if each.reply.get("request") in watches]
        return Tail(found, self.whole)


class Served:
    """A gateway that runs: its engine, a client of HTTP, and a client of the same engine."""

    def __init__(
        self,
        http: HttpSettings,
        stack: ExitStack,
        lane=None,
        folder=None,
        make=LocalEngine,
        **engine,
    ) -> None:
        self.transport = Recording(make(topics=OneTopic(), **engine))
        self.transport.listen(lambda reply: None)
        self.folder = folder  # the data folder of the engine, if there is one
        self._http, self._lane = http, lane
        self.port = self.start(http)
        stack.callback(self.stop)
        scheme = "https" if http.certificate else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.http = stack.enter_context(
            httpx.Client(base_url=self.url, timeout=30, verify=False, trust_env=False)
        )

    def start(self, http: HttpSettings) -> int:
        """A gateway before the engine; the port where it listens."""
        self.door = EngineDoor(self.transport, lane=self._lane)
        beside = None if self.folder is None else Beside(EngineFolder(self.folder), self.letters)
        self._listener = bind(http)
        self.server = GatewayServer(http, self.door, self.transport.replay, beside)
        arguments = {"sockets": [self._listener]}
        self._thread = threading.Thread(target=self.server.run, kwargs=arguments)
        self._thread.start()
        wait_until(lambda: self.server.started)
        return self._listener.getsockname()[1]

    def start_again(self) -> None:
        """Another gateway after `stop`: at the same address, before the same engine."""
        self.start(replace(self._http, listen=f"127.0.0.1:{self.port}"))

    def letters(self) -> list[dict]:
        """The dead letters of the engine, as they would be read from their topic."""
        return [{"at": self.engine.now, **letter} for letter in self.engine.letters]

    @property
    def engine(self) -> LocalEngine:
        return self.transport.engine

    def client(self) -> Client:
        """The client library, asking the same engine beside the gateway."""
        return Client(LocalTransport(self.engine))

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def tick(self, milliseconds: int) -> None:
        self.transport.tick(self.engine.now + milliseconds)

    def create(self, uid: str = "trades", **fields) -> httpx.Response:
        body = {"dataset": "Forex", "kind": "count_min", "key": "trader", **fields}
        return self.http.put(f"/v1/synopses/{uid}", json=body)

    def watch(self, watch: str = "w", **fields) -> httpx.Response:
        body = {"query": {"key": "ann"}, "every": "1s", **fields}
        headers = {"Idempotency-Key": watch}
        return self.http.post("/v1/synopses/trades/watches", json=body, headers=headers)

    def stop(self) -> None:
        self.server.should_exit = True
        self._thread.join(20)
        self._listener.close()
        self.door.close()
        assert not self._thread.is_alive()


def wait_until(is_so: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Makes gateways with settings of their own."""
    with ExitStack() as stack:

        def start(lane=None, folder=None, snapshots=None, limits=None, **settings) -> Served:
            http = HttpSettings(**{"listen": "127.0.0.1:0", **settings})
            return Served(http, stack, lane, folder, snapshots=snapshots, limits=limits)

        yield start


@pytest.fixture
def served(serve, tmp_path) -> Served:
    return serve(snapshots=tmp_path / "snapshots")
