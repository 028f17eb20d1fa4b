"""What an engine writes down about itself each second, for `sde status`: a file, not a message."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

STATUS_FILE = "status.json"  # in the data folder
METRICS_FILE = "metrics.prom"  # beside it: what Prometheus is told
State = Literal["starting", "running", "waiting", "recovering", "stopping"]


class EngineStatus(Struct, kw_only=True):
    """Times are in milliseconds since the epoch. `waiting`: for Kafka; `recovering`: a batch died,
    and the message that kills is looked for."""

    pid: int
    host: str
    site: str
    state: State
    since: int
    written: int
    bootstrap_servers: str
    folders: dict[str, str]  # what is in them, and where they are
    kafka_away_since: int | None = None
    kafka_problem: str = ""
    batches: int = 0  # of the checkpoint, since it was made
    last_batch: str = ""  # when it began
    messages_per_second: float | None = None  # of the data topics, in the last half minute
    lag: int | None = None  # messages that wait to be read
    behind: dict[str, int] = {}  # of these, by topic, or `source/topic`
    passed_over: int = 0
    limits: dict[str, int] = {}  # what it may hold, as the settings name them


def encode_status(status: EngineStatus) -> bytes:
    return msgspec.json.format(msgspec.json.encode(status), indent=2)


def decode_status(data: bytes) -> EngineStatus:
    """Raises msgspec.DecodeError for what is no status."""
    return msgspec.json.decode(data, type=EngineStatus)
