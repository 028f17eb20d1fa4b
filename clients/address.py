"""Where the engine is: what a running `sde serve` wrote down in its data folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from clients.errors import BadInput, Unreachable
from clients.http.address import SCHEMES
from clients.http.transport import HttpTransport
from clients.kafka import KafkaTransport
from clients.kafka_config import KafkaSettings
from clients.topic_reader import SECONDS_TO_CONNECT
from clients.transport import Topics, Transport
from sde.wire.nearest import nearest
from sde.wire.status import STATUS_FILE, EngineStatus, decode_status


class Address(NamedTuple):
    bootstrap_servers: str
    topics: Topics


class EngineFolder:
    """The data folder of an engine on this machine: SDE_DATA_DIR, or `sde-data` where we are."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Path(os.environ.get("SDE_DATA_DIR") or "sde-data")
        self._found: Address | None = None

    def running(self) -> Address:
        """The address of the engine that runs; Unreachable if there is none, or it is gone."""
        try:
            self._found = self._address()
        except FileNotFoundError:
            raise Unreachable(self._why_unknown()) from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            file = self.path / "address.json"
            raise Unreachable(f"{file}: not written by 'sde serve': {error!r}") from error
        if self.is_locked() is False:
            raise Unreachable(self.why_gone())
        return self._found

    def is_of(self, bootstrap_servers: str, topics: Topics) -> bool:
        """Whether its engine, if there is one, has this Kafka and these topics."""
        try:
            found = self._address()
        except (OSError, KeyError, TypeError, ValueError, AttributeError):
            return False
        return found == Address(bootstrap_servers, replace(topics, data=found.topics.data))

    def status(self) -> EngineStatus | None:
        """What the engine wrote down last; None if it is not there."""
        try:
            return decode_status((self.path / STATUS_FILE).read_bytes())
        except (OSError, msgspec.DecodeError):
            return None

    def why_silent(self, bootstrap_servers: str) -> str:
        """Why the engine with this Kafka may be silent; "" if it is not that of the folder."""
        address = self._found
        with suppress(OSError, KeyError, TypeError, ValueError, AttributeError):
            address = self._address()
        if address is None or address.bootstrap_servers != bootstrap_servers:
            return ""
        if self.is_locked() is False:
            return self.why_gone()
        status = self.status()
        if status is None:
            return ""
        engine = f"the engine{self._pid()}"
        if status.kafka_away_since is not None:
            return f"{engine} {_waits_for_kafka(status)}"
        if status.state != "running":
            return f"{engine} is {status.state}"
        behind = f", {status.lag:,} messages behind" if status.lag else ""
        return f"{engine} runs{behind}; it may be busy"

    def why_gone(self) -> str:
        return (
            f"the engine{self._pid()} of {self.path} is gone. Start it again with 'sde serve': it "
            "goes on where it was."
        )

    def _address(self) -> Address:
        written = json.loads((self.path / "address.json").read_text(encoding="utf-8"))
        return Address(written["bootstrap_servers"], _topics(written.get("topics", {})))

    def is_locked(self) -> bool | None:
        """Whether a process has the lock of the folder, as an engine has.

        None if this cannot be told: there is no lock, or there are none on this system.
        """
        try:
            import fcntl
        except ImportError:
            return None
        try:
            with (self.path / "lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return None
        return False

    def _why_unknown(self) -> str:
        if self.is_locked():
            status = self.status()
            if status is not None and status.kafka_away_since is not None:
                return f"the engine{self._pid()} of {self.path} {_waits_for_kafka(status)}"
            return f"the engine{self._pid()} of {self.path} is starting: 'sde status' tells more."
        return (
            f"No engine is known here: there is no {self.path / 'address.json'}. Start one in this "
            "folder with 'sde serve', name its data folder in SDE_DATA_DIR, or give its Kafka:"
            " Client('HOST:PORT') in Python, --bootstrap-servers in the shell, or"
            " SDE_BOOTSTRAP_SERVERS for both."
        )

    def _pid(self) -> str:
        """As the engine wrote it into the lock, in brackets."""
        try:
            pid = (self.path / "lock").read_text().strip()
        except OSError:
            pid = ""
        return f" (pid {pid})" if pid else ""


def _waits_for_kafka(status: EngineStatus) -> str:
    return f"waits for its Kafka, which does not answer: {status.kafka_problem}"


def transport_to(
    engine: str | Transport | None,
    settings: KafkaSettings | None = None,
    topics: Topics | Mapping[str, str] | None = None,
    patience: float = SECONDS_TO_CONNECT,
    *,
    token: str | None = None,
    ca_file: str | os.PathLike[str] | None = None,
) -> Transport:
    """To the gateway at a URL, or the Kafka at an address; without one SDE_BOOTSTRAP_SERVERS, or
    the engine found here.

    `settings` are those of librdkafka; `topics` are the names of the engine's topics, all or by
    their roles; `patience` is how many seconds a request may wait; `token` and `ca_file` are for a
    gateway.
    """
    if isinstance(engine, str) and engine.lower().startswith(SCHEMES):
        for name, value in (("settings", settings), ("topics", topics)):
            if value is not None:
                raise BadInput(f"{name}: expected with the address of a Kafka, not with a URL")
        return HttpTransport(engine, token=token, ca_file=ca_file, patience=patience)
    for name, said in (("token", token), ("ca_file", ca_file)):
        if said is not None:
            raise BadInput(f"{name}: expected with the URL of a gateway: http://HOST:PORT")
    if engine is not None and not isinstance(engine, str):
        for name, value in (("settings", settings), ("topics", topics)):
            if value is not None:
                raise BadInput(f"{name}: expected with an address; a transport has its own")
        return engine
    folder = EngineFolder()
    servers, names = engine or os.environ.get("SDE_BOOTSTRAP_SERVERS", ""), Topics()
    if not servers:
        servers, names = folder.running()
    names = topics if isinstance(topics, Topics) else named_topics(names, topics or {})
    why_silent = partial(folder.why_silent, servers)
    return KafkaTransport(
        servers, topics=names, settings=settings, why_silent=why_silent, patience=patience
    )


def named_topics(topics: Topics, names: Mapping[str, str]) -> Topics:
    """`topics` with other names for some roles; BadInput for a role that there is not."""
    roles = Topics.__slots__
    for role, name in names.items():
        if role not in roles:
            raise BadInput(
                f"topics: {role}={name!r}: expected one of {', '.join(roles)}."
                f" {nearest(role, roles)}".rstrip()
            )
    return replace(topics, **names)


def _topics(written: Mapping[str, Any]) -> Topics:
    names = {role: written[role] for role in Topics.__slots__ if written.get(role)}
    if isinstance(names.get("data"), list):
        names["data"] = names["data"][0]  # an engine may read several; one is enough to write to
    return Topics(**names)
