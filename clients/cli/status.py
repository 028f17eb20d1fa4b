"""status: how the engine of this folder is. Asks the engine nothing: it writes it down."""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import click
from msgspec import structs

from clients.address import EngineFolder
from clients.cli.printing import print_json, print_table
from clients.cli.session import Session, connected
from clients.dead_letters import recent_faults
from clients.errors import Unreachable
from clients.processes import family, folder_bytes, memory
from clients.wording import size, time_text
from sde.wire.status import EngineStatus

_EXIT_NOT_READY = 1
_STALE_SECONDS = 15.0
_FAULT_SECONDS = 600.0
_PLACES = 5  # topics of which it is told how far behind the engine is
_READY = ("running", "recovering")


@click.command()
@connected
def status(session: Session) -> None:
    """Tell whether the engine of this folder runs, and how it is.

    Ends with 0 if it is ready, with 1 if it does not run, starts, stops or waits for Kafka.

    \b
    sde status
    """
    folder = EngineFolder()
    written = folder.status()
    if not folder.is_locked():
        gone = folder.why_gone() if written is not None else f"no engine runs in {folder.path}"
        _end_not_running(session, gone)
    if written is None:
        _end_not_running(session, f"the engine of {folder.path} has not written its status yet")
    is_ready = _is_ready(written)
    known: dict[str, Any] = {"running": True, "ready": is_ready, **structs.asdict(written)}
    if written.host == socket.gethostname():
        known["processes"] = len(family(written.pid))
        known["memory"] = memory(written.pid)
    known["disk"] = {
        name: folder_bytes(Path(path))
        for name, path in written.folders.items()
        if "://" not in path
    }
    known["faults"] = _faults(session, written)
    if session.as_json:
        print_json(known)
    else:
        print_table(["", ""], _rows(written, known))
    if not is_ready:
        sys.exit(_EXIT_NOT_READY)


def _end_not_running(session: Session, reason: str) -> NoReturn:
    if session.as_json:
        print_json({"running": False, "ready": False, "reason": reason})
    else:
        click.echo(reason)
    sys.exit(_EXIT_NOT_READY)


def _is_ready(written: EngineStatus) -> bool:
    return written.state in _READY and written.kafka_away_since is None


def _faults(session: Session, written: EngineStatus) -> dict[str, int] | None:
    """None if they cannot be told."""
    if not _is_ready(written):
        return None
    try:
        settings, topics = session.kafka()
        letters, refusals = (
            recent_faults(settings, topic, _FAULT_SECONDS)
            for topic in (topics.dead_letters, topics.output)
        )
        return dict(letters + refusals)
    except Unreachable:
        return None


def _rows(written: EngineStatus, known: dict[str, Any]) -> list[list[str]]:
    rows = {
        "engine": _engine(written),
        "Kafka": _kafka(written),
        "reads": _reads(written),
        "batches": _batches(written),
        "passed over": f"{written.passed_over:,} messages",
        "faults": _fault_text(known["faults"]),
        "memory": _memory(known),
        "disk": ", ".join(f"{name} {size(n)}" for name, n in known["disk"].items() if n),
    }
    return [[name, text] for name, text in rows.items() if text]


def _engine(written: EngineStatus) -> str:
    text = f"{written.state}, pid {written.pid}, since {time_text(written.since)}"
    silence = time.time() - written.written / 1000
    return text + (f"; silent for {silence:.0f} s" if silence > _STALE_SECONDS else "")


def _kafka(written: EngineStatus) -> str:
    if written.kafka_away_since is None:
        return written.bootstrap_servers
    since = time_text(written.kafka_away_since)
    return f"{written.bootstrap_servers}, AWAY since {since}: {written.kafka_problem}"


def _reads(written: EngineStatus) -> str:
    if written.messages_per_second is None or written.lag is None:
        return ""
    rate = f"{written.messages_per_second:,.0f} messages/s"
    places = [f"{count:,} of {log}" for log, count in written.behind.items()]
    more = f" and {len(places) - _PLACES:,} more topics" if len(places) > _PLACES else ""
    where = f": {', '.join(places[:_PLACES])}{more}" if places else ""
    return f"{rate}; {written.lag:,} wait to be read{where}"


def _batches(written: EngineStatus) -> str:
    if not written.last_batch:
        return "none yet since the start"
    return f"{written.batches:,}, the last at {written.last_batch}"


def _fault_text(faults: dict[str, int] | None) -> str:
    if faults is None:
        return ""
    counted = ", ".join(f"{code} {count:,}" for code, count in sorted(faults.items()))
    return f"{counted or 'none'} in the last {_FAULT_SECONDS / 60:.0f} minutes"


def _memory(known: dict[str, Any]) -> str:
    if "memory" not in known:
        return ""
    parts = known["memory"]
    return (
        f"{size(sum(parts.values()))} in {known['processes']} processes "
        f"(Java {size(parts['jvm'])}, Python {size(parts['python'])})"
    )
