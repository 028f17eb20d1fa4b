"""The processes of an engine on this machine, and what they and its folders take."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    name: str  # at most 15 characters; a process that was forked may have one of its own
    command: bytes  # its arguments, each ended by a zero byte

    @property
    def is_java(self) -> bool:
        return b"/java\0" in self.command[:200]


def family(pid: int) -> list[Process]:
    """A process and all that descend from it."""
    by_parent: dict[int, list[Process]] = {}
    found: list[Process] = []
    for entry in _PROC.iterdir():
        process = _read(entry) if entry.name.isdigit() else None
        if process is not None:
            by_parent.setdefault(process.parent, []).append(process)
            if process.pid == pid:
                found.append(process)
    for process in found:  # grows while it is walked through
        found += by_parent.get(process.pid, [])
    return found


def _read(entry: Path) -> Process | None:
    try:
        status = (entry / "stat").read_text()
        command = (entry / "cmdline").read_bytes()
    except OSError:  # it has just ended
        return None
    head, _, rest = status.rpartition(")")  # the name may hold anything
    name = head.partition("(")[2]
    return Process(int(entry.name), int(rest.split()[1]), name, command)


def memory(pid: int) -> dict[str, int]:
    """Bytes held by the engine `pid`: Spark's JVM and Python. Shared pages are counted once."""
    held = {"jvm": 0, "python": 0}
    for process in family(pid):
        part = "jvm" if process.is_java else "python"
        held[part] += proportional_bytes(process.pid)
    return held


def proportional_bytes(pid: int) -> int:
    """Bytes held by one process, pages that it shares with others in parts."""
    try:
        text = (_PROC / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return 0
    return next((1024 * int(x.split()[1]) for x in text.splitlines() if x.startswith("Pss:")), 0)


def folder_bytes(folder: Path) -> int:
    """Bytes the files take on the disk; files that vanish meanwhile count for nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += 512 * os.stat(os.path.join(parent, name)).st_blocks
            except FileNotFoundError:
                continue
    return total


def runs(pid: int) -> bool:
    """Whether a process is there and has not ended yet."""
    try:
        status = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"
