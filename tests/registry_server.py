"""Schema registries of tests: one that replays what a real one said, one that records it.

`python tests/registry_server.py URL` registers schemas at a real registry (URL ends
with the path of its Confluent API, such as http://127.0.0.1:8080/apis/ccompat/v7), asks for them
through `SchemaRegistry`, checks the answers, and writes what was exchanged for the tests.
"""

import json
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

EXCHANGES = Path(__file__).with_name("registry_exchanges.json")
Answer = tuple[int, bytes]

LEG = '{"type":"record","name":"Leg","namespace":"shop","fields":[{"name":"n","type":"long"}]}'
TRADE = (
    '{"type":"record","name":"Trade","namespace":"shop","fields":'
    '[{"name":"id","type":"string"},{"name":"leg","type":"Leg"}]}'
)
MONEY = 'syntax = "proto3";\npackage shop;\nmessage Money { int64 units = 1; }\n'
ORDER = (
    'syntax = "proto3";\npackage shop;\nimport "money.proto";\n'
    "message Order { string id = 1; Money price = 2; }\n"
)
LOOSE = '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}'
# Subject, form, text, and what it refers to: (name, subject).
SCHEMAS = [
    ("leg", "AVRO", LEG, []),
    ("trade-value", "AVRO", TRADE, [("shop.Leg", "leg")]),
    ("money", "PROTOBUF", MONEY, []),
    ("order-value", "PROTOBUF", ORDER, [("money.proto", "money")]),
    ("loose", "JSON", LOOSE, []),
]
UNKNOWN = 987_654


@contextmanager
def serving(
    answer: Callable[[str, dict[str, str]], Answer], tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """The address of a server whose answers are those of `answer`, by path and headers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer(self.path, dict(self.headers))
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", body.decode())
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: object) -> None:
            pass  # who does not believe a certificate hangs up

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, args=[0.02])
    thread.start()
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def replayed(path: str, headers: dict[str, str]) -> Answer:
    """What the real registry said; an HTML page for what it was never asked."""
    for exchange in json.loads(EXCHANGES.read_text())["exchanges"]:
        if exchange["path"] == path:
            return exchange["status"], exchange["body"].encode()
    return 404, b"<html>nothing here</html>"


def numbers() -> dict[str, int]:
    """The numbers that the real registry gave, by subject."""
    found: dict[str, int] = json.loads(EXCHANGES.read_text())["numbers"]
    return found


def _call(url: str, body: object = None) -> Answer:
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Content-Type": "application/vnd.schemaregistry.v1+json"})
    try:
        with urlopen(request, timeout=30) as response:
            return response.status, response.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


def record(url: str) -> None:
    from sde.decoding.schemas import Schema, UnknownSchema
    from service.kafka.registry import RegistrySettings, SchemaRegistry

    numbered, texts = {}, {}
    for subject, form, text, references in SCHEMAS:
        refers = [{"name": name, "subject": other, "version": 1} for name, other in references]
        body = {"schema": text, "schemaType": form, "references": refers}
        status, answer = _call(f"{url}/subjects/{subject}/versions", body)
        assert status == 200, answer
        numbered[subject], texts[subject] = json.loads(answer)["id"], text
    exchanges = []

    def forward(path: str, headers: dict[str, str]) -> Answer:
        status, answer = _call(url + path)
        exchanges.append({"path": path, "status": status, "body": answer.decode()})
        return status, answer

    with serving(forward) as proxy:
        registry = SchemaRegistry(RegistrySettings(proxy))
        for subject, form, text, references in SCHEMAS:
            expected = Schema(form, text, tuple((name, texts[other]) for name, other in references))
            found = registry(numbered[subject])
            assert found == expected, (found, expected)
        with pytest.raises(UnknownSchema):
            registry(UNKNOWN)
    recorded = {"numbers": numbered, "exchanges": exchanges}
    EXCHANGES.write_text(json.dumps(recorded, indent=2) + "\n")
    print(f"{len(exchanges)} exchanges with {len(SCHEMAS)} schemas")


if __name__ == "__main__":
    record(sys.argv[1].rstrip("/"))
