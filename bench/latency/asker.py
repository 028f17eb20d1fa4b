"""Questions over HTTP from a process of its own, as fast as they are answered or at a pace.

`python -m bench.latency.asker PORT SECONDS CONNECTIONS [--batch N] [--rate R]` prints how many it
asked a second that the read lane answered.
"""

from __future__ import annotations

import argparse
import random
import selectors
import socket
import time

import orjson

from bench.latency.questions import COUNTED, WHOLE
from bench.throughput.tuples import STREAMS

_DIFFERENT = 500  # requests
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


def requests(port: int, batch: int) -> list[bytes]:
    """One question about a stream each, or so many about keys of a whole data set."""
    rng = random.Random(3)
    made = []
    for _ in range(_DIFFERENT // max(1, batch // 100)):
        key = f"T{rng.randrange(1000):05}"
        if batch:
            keys = (f"T{rng.randrange(1000):05}" for _ in range(batch))
            asked: object = [{"uid": WHOLE, "query": {"key": each}} for each in keys]
            path = "/v1/estimates"
        else:
            asked = {"stream": f"S{rng.randrange(STREAMS):04}", "query": {"key": key}}
            path = f"/v1/synopses/{COUNTED}/estimate"
        body = orjson.dumps(asked)
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n"
        made.append(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
    return made


def whole_response(data: bytes) -> bytes | None:
    """The body, if all of it has come; ValueError for a refusal."""
    head, found, body = data.partition(_HEAD_END)
    if not found:
        return None
    if not head.startswith(b"HTTP/1.1 200"):
        raise ValueError(data[:500])
    length = int(head.lower().partition(_LENGTH)[2].split(b"\r\n")[0])
    return body if len(body) == length else None


def ask(port: int, seconds: float, connections: int, batch: int, rate: float) -> float:
    rng, made = random.Random(4), requests(port, batch)
    open_, unread = selectors.DefaultSelector(), {}
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
    for each in idle:
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        open_.register(each, selectors.EVENT_READ)
    began, asked, answered = time.monotonic(), 0, 0
    while (passed := time.monotonic() - began) < seconds:
        while idle and (not rate or asked < rate * passed):
            each = idle.pop()
            unread[each] = b""
            each.sendall(rng.choice(made))
            asked += 1
        for key, _ in open_.select(0.001):
            each = key.fileobj
            assert isinstance(each, socket.socket)
            unread[each] += each.recv(1 << 20)
            body = whole_response(unread[each])
            if body is not None:
                answered += body.count(b'"as_of"')
                idle.append(each)
    return answered / (time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.latency.asker", description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("connections", type=int)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--rate", type=float, default=0.0)
    options = parser.parse_args()
    print(ask(**vars(options)), flush=True)


if __name__ == "__main__":
    main()
