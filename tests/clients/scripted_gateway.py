"""A server that says what a test wants, where a real gateway would have to be in trouble."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import NamedTuple


class Asked(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Says(NamedTuple):
    """A response; status 0 ends the connection without one."""

    status: int = 200
    body: object = b""
    headers: Mapping[str, str] = MappingProxyType({})


Script = Callable[[Asked], Says]


def problem(status: int, code: str, detail: str = "so it is", **headers: str) -> Says:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Says(status, {"status": status, "code": code, "detail": detail}, named)


class ScriptedGateway:
    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Asked] = []

    def bodies(self, path: str) -> list[bytes]:
        return [each.body for each in self.asked if each.path == path]


@contextmanager
def scripted(script: Script) -> Iterator[ScriptedGateway]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = Asked(self.command, self.path, dict(self.headers), body)
            gateway.asked.append(asked)
            says = script(asked)
            if not says.status:
                self.close_connection = True
                return
            body = says.body if isinstance(says.body, bytes) else json.dumps(says.body).encode()
            self.send_response(says.status)
            for name, value in {"Content-Length": str(len(body)), **says.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    gateway = ScriptedGateway(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield gateway
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
