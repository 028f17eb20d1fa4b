"""The embedded broker: a real single-node Kafka in a folder, as long as this process lives."""

from __future__ import annotations

import base64
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from string import Template
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from service.broker import class_archive
from service.broker import guard as broker_guard
from service.broker.folder_lock import FolderLock
from service.broker.jars import Report, broker_jars
from service.broker.ports import free_ports, ports_of
from service.java import find_java
from service.kafka.admins import forget_admins_of
from service.startup_errors import BrokerError

_SETTINGS = Path(__file__).with_name("broker.properties")
_SERVER_SETTINGS = "server.properties"
_FORMATTED = Path("data", "meta.properties")
_START_ATTEMPTS = 3
_LOG_LINES_SHOWN = 20
_LARGEST_SEGMENT = 1 << 30  # Kafka's default
_SMALLEST_SEGMENT = 32 << 20  # it must hold the largest message
_JVM_OPTIONS = (
    "-Xmx1g",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
)


class EmbeddedBroker:
    """Kafka in `folder`: its data is kept from run to run.

    `port`: None for any free one; 0 for the one of the last run in the folder, or else the usual
    one, if they are free. `report` gets a line when they are not.

    `partition_bytes`: when a partition has more, its oldest messages are deleted.

    `properties`: further ones of Kafka, for tests. They override ours, and may name our ports as
    broker.properties does.

    Ends with `stop`, with the `with` block, and when this process dies in whatever way.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int | None = None,
        partition_bytes: int | None = None,
        properties: Mapping[str, str] | None = None,
        ready_timeout: float = 60.0,
        report: Report = lambda line: None,
    ) -> None:
        self._folder = folder.absolute()
        self._port = port
        self._partition_bytes = partition_bytes
        self._properties = properties or {}
        self._ready_timeout = ready_timeout
        self._report = report
        self._ports: tuple[int, int] | None = None
        self._lock: FolderLock | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._is_wanted = False  # between `start` and `stop`

    @property
    def bootstrap_servers(self) -> str:
        if self._ports is None:
            raise BrokerError("The embedded broker has no address yet: start it first.")
        return f"127.0.0.1:{self._ports[0]}"

    @property
    def log_file(self) -> Path:
        return self._folder / "broker.log"

    def start(self) -> None:
        """Returns when the broker answers. A stopped broker comes back at its old address."""
        if self._guard is not None:
            raise BrokerError("The embedded broker was started already: stop it first.")
        self._run(may_move=True)
        self._is_wanted = True

    def _run(self, *, may_move: bool) -> None:
        java, jars = find_java(), broker_jars(self._report)
        options = [*_JVM_OPTIONS, *class_archive.java_options(jars), "-cp", f"{jars}/*"]
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(self._folder)
        try:
            self._start_on_free_ports([str(java), *options], may_move)
        except BaseException:
            self._end()
            raise

    def stop(self) -> None:
        """Closes Kafka's files properly. Does nothing if the broker does not run."""
        self._is_wanted = False
        self._end()

    def _end(self) -> None:
        if self._guard is not None:
            forget_admins_of(self.bootstrap_servers)
        self._end_guard()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def kill(self) -> None:
        """Ends the broker as a power cut would; for tests of what survives that."""
        if self._guard is not None:
            os.killpg(self._guard.pid, signal.SIGKILL)
            self.stop()
            FolderLock(self._folder).release()  # to be had only when the broker is gone

    def ensure_running(self) -> bool:
        """Start a broker that ended by itself, at its old address; whether that was needed.

        BrokerError if it does not start; another call tries again.
        """
        if not self._is_wanted or (self._guard is not None and self._guard.poll() is None):
            return False
        self._end()
        self._run(may_move=False)
        return True

    def restart(self) -> None:
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _choose_ports(self) -> tuple[int, int]:
        if self._port is None:
            return free_ports()
        return ports_of(self._folder / _SERVER_SETTINGS, self._port, self._report)

    def _start_on_free_ports(self, java: list[str], may_move: bool) -> None:
        for attempts_left in reversed(range(_START_ATTEMPTS)):
            self._ports = self._ports or self._choose_ports()
            self._write_settings()
            self._format_once(java)
            self.log_file.touch()
            log_start = self.log_file.stat().st_size
            self._launch(java)
            try:
                self._wait_until_ready()
                return
            except _Ended:
                log = self._log_since(log_start)
                self._end_guard()
                if "BindException" not in log or not attempts_left or not may_move:
                    raise BrokerError(f"The embedded broker ended at once.{_tail(log)}") from None
                self._ports = None  # somebody took a port between our look and Kafka's
            except TimeoutError as error:
                log = self._log_since(log_start)
                raise BrokerError(
                    f"The embedded broker was not ready within {self._ready_timeout:g} s"
                    f" ({error}).{_tail(log)}"
                ) from None

    def _write_settings(self) -> None:
        assert self._ports is not None
        most = self._partition_bytes
        further = [f"{name}={value}\n" for name, value in self._properties.items()]
        text = Template("".join((_SETTINGS.read_text(), *further))).substitute(
            broker_port=self._ports[0],
            controller_port=self._ports[1],
            partition_bytes=-1 if most is None else most,
            segment_bytes=_LARGEST_SEGMENT if most is None else segment_bytes(most),
        )
        (self._folder / _SERVER_SETTINGS).write_text(text)

    def _format_once(self, java: list[str]) -> None:
        if (self._folder / _FORMATTED).exists():
            return
        # Without "-": at the front, Kafka's tools would take the id for an option.
        cluster_id = base64.b64encode(uuid.uuid4().bytes, altchars=b"__").decode().rstrip("=")
        tool = [*java, "kafka.tools.StorageTool", "format", "--ignore-formatted"]
        done = subprocess.run(
            [*tool, "-t", cluster_id, "-c", _SERVER_SETTINGS],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        with self.log_file.open("a") as log:
            log.write(done.stdout)
        if done.returncode != 0:
            raise BrokerError(f"{self._folder / 'data'} cannot be formatted.{_tail(done.stdout)}")

    def _launch(self, java: list[str]) -> None:
        assert self._lock is not None
        guard = [sys.executable, "-I", "-S", broker_guard.__file__]
        with self.log_file.open("ab") as log:
            self._guard = subprocess.Popen(
                [*guard, *java, "kafka.Kafka", _SERVER_SETTINGS],
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[self._lock.fileno()],
                # Ctrl-C is for the service, which then stops its broker last.
                start_new_session=True,
            )

    def _end_guard(self) -> None:
        if self._guard is not None:
            assert self._guard.stdin is not None
            self._guard.stdin.close()
            self._guard.wait()
            self._guard = None

    def _wait_until_ready(self) -> None:
        assert self._guard is not None
        deadline = time.monotonic() + self._ready_timeout
        admin: AdminClient | None = None
        problem: object = "its port is closed"
        while time.monotonic() < deadline:
            if self._guard.poll() is not None:
                raise _Ended
            if admin is None and self._port_is_open():
                admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
            if admin is not None:
                try:
                    cluster = admin.list_topics(timeout=1)
                    if cluster.brokers and cluster.cluster_id == self._cluster_id():
                        return
                    problem = f"at its port answers the cluster {cluster.cluster_id}"
                except KafkaException as error:
                    problem = error
            time.sleep(0.05)
        raise TimeoutError(problem)

    def _cluster_id(self) -> str:
        lines = (self._folder / _FORMATTED).read_text().splitlines()
        return dict(line.partition("=")[::2] for line in lines)["cluster.id"]

    def _port_is_open(self) -> bool:
        assert self._ports is not None
        try:
            socket.create_connection(("127.0.0.1", self._ports[0]), timeout=1).close()
        except OSError:
            return False
        return True

    def _log_since(self, start: int) -> str:
        with self.log_file.open("rb") as log:
            log.seek(start)
            return log.read().decode(errors="replace")


def segment_bytes(partition_bytes: int) -> int:
    """So that a partition has at most a quarter more than it may."""
    return min(max(partition_bytes // 4, _SMALLEST_SEGMENT), _LARGEST_SEGMENT)


class _Ended(Exception):
    """The broker's process is gone."""


def _tail(log: str) -> str:
    lines = log.strip().splitlines()[-_LOG_LINES_SHOWN:]
    return " Its log ends:\n  " + "\n  ".join(lines) if lines else " Its log is empty."
