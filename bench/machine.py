"""Where and with what a figure was measured: every result file says so."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).with_name("results")
_PACKAGES = ("pyspark", "confluent-kafka", "datasketches", "numba", "numpy", "orjson", "pyarrow")


def measured_on() -> dict[str, str]:
    return {
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
        "commit": _commit(),
    }


def in_one_line(machine: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in machine.items() if value)


def _processor() -> str:
    """Its name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((ln.partition(":")[2].strip() for ln in lines if ln.startswith("model name")), "")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _commit() -> str:
    """The commit checked out, marked if files were changed since."""
    here = Path(__file__).parent
    try:
        name = _git(here, "rev-parse", "--short", "HEAD")
        changed = _git(here, "status", "--porcelain", "--", "..", ":!results")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{name} and changes" if changed else name


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()
