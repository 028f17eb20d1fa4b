"""The HTTP door as a process beside the engine: started when it is ready, ended with it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

import orjson

from service.settings import Settings

_SECONDS_TO_LISTEN, _SECONDS_TO_END = 15.0, 15.0
_LOOK_SECONDS = 0.05
_SECONDS_BETWEEN_STARTS = 10.0  # of one that ends by itself
_COMMAND = (sys.executable, "-P", "-m", "service.gateway", "--from-engine")


class GatewayProcess:
    """`sde gateway` with the settings of the engine; nothing if these name no address.

    It gets them by its standard input, because they may hold secrets. That stays open as long as
    this process lives: if the engine is killed, the gateway ends, too.
    """

    def __init__(
        self,
        settings: Settings,
        report: Callable[[str], None],
        command: tuple[str, ...] = _COMMAND,
    ) -> None:
        self._settings, self._report, self._command = settings, report, command
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    def start(self) -> None:
        if not self._settings.http.listen:
            return
        self._started = time.monotonic()
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(settings_line(self._settings))
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended; `check` says so

    def wait(self) -> None:
        """Return when it listens; also if it has ended, or takes long."""
        deadline = time.monotonic() + _SECONDS_TO_LISTEN
        while self._process is not None and self._process.poll() is None:
            try:
                socket.create_connection(self._settings.http.address, _LOOK_SECONDS).close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(_LOOK_SECONDS)

    def check(self) -> None:
        """Called while the engine runs: a gateway that has ended is started again."""
        if self._process is None or self._process.poll() is None:
            return
        if time.monotonic() - self._started >= _SECONDS_BETWEEN_STARTS:
            self._report(f"the HTTP gateway ended ({self._process.returncode}); it starts again")
            self.stop()
            self.start()

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def settings_line(settings: Settings) -> bytes:
    """What a gateway has to know, as a file of settings would say it, in one line of JSON."""
    http = {name: said for name, said in asdict(settings.http).items() if said is not None}
    values = {
        "bootstrap_servers": settings.bootstrap_servers,
        "kafka": settings.kafka,
        "topics": asdict(settings.topics),
        "data_dir": settings.data_dir,
        "http": http,
    }
    return orjson.dumps(values, default=str) + b"\n"
