"""An engine as a child process: for the demo, tests and measurements."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from clients.errors import ClientError


class EngineProcess:
    """`python -m service` with its state in `folder`; started and stopped as a user would."""

    def __init__(
        self, folder: Path, *flags: str, say: Callable[[str], None] = lambda line: None
    ) -> None:
        self.folder = folder
        self._flags, self._say = flags, say
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Return when the engine says that it is ready."""
        command = [sys.executable, "-m", "service", "--data-dir", str(self.folder), *self._flags]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._process = process
        assert process.stdout is not None
        last = ""
        for line in process.stdout:
            last = line.rstrip()
            self._say(last)
            if ": ready" in line:
                self._reader = threading.Thread(target=self._read_on, daemon=True)
                self._reader.start()
                return
        process.stdout.close()
        code = process.wait()
        raise ClientError(f"the engine did not start (exit code {code}): {last}")

    def _read_on(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._say(line.rstrip())

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def address(self) -> dict[str, Any]:
        """What the engine wrote down for its clients: bootstrap servers and topics."""
        written: dict[str, Any] = json.loads((self.folder / "address.json").read_text())
        return written

    @property
    def bootstrap_servers(self) -> str:
        return str(self.address["bootstrap_servers"])

    def stop(self) -> int:
        """Ask it to end and wait; its exit code."""
        return self._end(lambda process: process.terminate())

    def kill(self) -> int:
        """SIGKILL: it ends as in a crash, without saving anything."""
        return self._end(lambda process: process.kill())

    def _end(self, how: Callable[[subprocess.Popen[str]], None]) -> int:
        process = self._process
        assert process is not None
        how(process)
        code = process.wait()
        if self._reader is not None:
            self._reader.join(5)
        assert process.stdout is not None
        process.stdout.close()
        return code
