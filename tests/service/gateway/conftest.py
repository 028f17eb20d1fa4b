"""A gateway on a real socket, in front of an engine in this process."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest

from clients import Client
from sde.testing import LocalEngine, LocalTransport, messages
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

    def __init__(self, http: HttpSettings, stack: ExitStack, lane=None, **engine) -> None:
        self.transport = Recording(LocalEngine(topics=OneTopic(), **engine))
        self.transport.listen(lambda reply: None)
        self.door = EngineDoor(self.transport, lane=lane)
        listener = bind(http)
        self.port = listener.getsockname()[1]
        self.server = GatewayServer(http, self.door, self.transport.replay)
        thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listener]})
        thread.start()
        stack.callback(self._stop, thread, listener)
        scheme = "https" if http.certificate else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.http = stack.enter_context(
            httpx.Client(base_url=self.url, timeout=30, verify=False, trust_env=False)
        )
        wait_until(lambda: self.server.started)

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

    def _stop(self, thread: threading.Thread, listener: socket.socket) -> None:
        self.server.should_exit = True
        thread.join(20)
        listener.close()
        self.door.close()
        assert not thread.is_alive()


def wait_until(is_so: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Makes gateways with settings of their own."""
    with ExitStack() as stack:

        def start(lane=None, snapshots=None, limits=None, **settings) -> Served:
            http = HttpSettings(**{"listen": "127.0.0.1:0", **settings})
            return Served(http, stack, lane, snapshots=snapshots, limits=limits)

        yield start


@pytest.fixture
def served(serve, tmp_path) -> Served:
    return serve(snapshots=tmp_path / "snapshots")
