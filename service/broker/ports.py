"""The ports of an embedded broker: where its clients look for it, and one for its controller."""

from __future__ import annotations

import random
import re
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from service.startup_errors import BrokerError

USUAL_PORT = 9092  # of Kafka, everywhere
# Below the range from which systems take ports for outgoing connections: a client that tries to
# reconnect while the broker is down could otherwise be given the broker's own port.
_PORTS = range(20_000, 32_000)
_LISTENER = re.compile(r"^listeners=PLAINTEXT://127\.0\.0\.1:(\d+)", re.MULTILINE)


def free_ports(wanted: Sequence[int] = ()) -> tuple[int, int]:
    """Of the broker, the first of `wanted` that is free if there is one; and of its controller."""
    candidates = [*wanted, *random.SystemRandom().sample(_PORTS, len(_PORTS))]
    free = (port for port in candidates if is_free(port))
    broker = next(free, None)
    controller = next((port for port in free if port in _PORTS and port != broker), None)
    if broker is None or controller is None:
        raise BrokerError(f"No two ports are free from {_PORTS[0]} to {_PORTS[-1]}.")
    return broker, controller


def ports_of(settings: Path, port: int, report: Callable[[str], None]) -> tuple[int, int]:
    """The ports of an engine's broker, whose settings of the last run are in a file.

    With `port` 0 it is the one of the last run, or else the usual one, if they are free.
    """
    if port:
        if not is_free(port):
            raise BrokerError(
                f"broker_port={port}: another program has this port; stop that one, name another "
                "port, or none for any that is free."
            )
        return free_ports([port])
    last = last_port(settings)
    wanted = [USUAL_PORT] if last is None else [last, USUAL_PORT]
    ports = free_ports(wanted)
    if ports[0] != wanted[0]:
        report(f"port {wanted[0]} is taken: the embedded broker uses {ports[0]}")
    return ports


def last_port(settings: Path) -> int | None:
    try:
        found = _LISTENER.search(settings.read_text())
    except FileNotFoundError:
        return None
    return int(found[1]) if found else None


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
