"""What a plug-in's process may do. It guards against mistakes; trust comes from signatures."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

_FORBIDDEN = (
    "os.fork",
    "os.forkpty",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "os.kill",
    "os.killpg",
    "subprocess.Popen",
    "pty.spawn",
    "socket.connect",
    "socket.bind",
)
_OPEN_FILES = 64
_SHARED_BYTES = 512 << 20  # address space for blocks, and for what files are mapped
_PR_SET_PDEATHSIG = 1


class Forbidden(RuntimeError):
    """The plug-in tried something that plug-ins may not do."""


def end_with_parent() -> None:
    """Die when the worker dies, even in the middle of a loop."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def close(memory: int) -> None:
    """From here on: so much more memory than now, few files, no other processes, no network.

    `sde.plugins.host` calls it before the plug-in's source is run. There is no way back.
    """
    used = _used("VmData") + memory
    resource.setrlimit(resource.RLIMIT_DATA, (used, used))
    mapped = _used("VmSize") + memory + _SHARED_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (mapped, mapped))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(1)
    sys.addaudithook(_forbid)


def _used(what: str) -> int:
    """Bytes of this process that the system counts so: VmData is its own, VmSize all it maps."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{what}:"))


def _forbid(event: str, arguments: tuple[Any, ...]) -> None:
    """The interpreter calls it for every event of its audit."""
    if event in _FORBIDDEN:
        raise Forbidden(f"{event} is not allowed to plug-ins")
