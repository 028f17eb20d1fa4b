"""The broker's jars: downloaded once by the Ivy inside PySpark, then kept in the user's cache.

`python -m service.broker.jars` fetches them ahead of time and prints where they are.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from service.java import find_java
from service.startup_errors import JarsError, StartupError

_DEPENDENCIES = Path(__file__).with_name("broker.ivy.xml")
_LINES_SHOWN_ON_FAILURE = 15
_JARS_PER_PROGRESS_LINE = 10
# Java's own default is to wait for ever on a silent server.
_NETWORK_TIMEOUTS = (
    "-Dsun.net.client.defaultConnectTimeout=30000",
    "-Dsun.net.client.defaultReadTimeout=60000",
)

Report = Callable[[str], None]


def broker_jars(report: Report = lambda line: None) -> Path:
    """The folder with the broker's jars, downloaded first if they are not in the cache."""
    digest = hashlib.sha256(_DEPENDENCIES.read_bytes()).hexdigest()[:12]
    home = cache_folder() / "jars"
    complete = home / f"broker-{digest}"
    if complete.is_dir():
        return complete
    home.mkdir(parents=True, exist_ok=True)
    with _one_process_at_a_time(home / "lock", report):
        if not complete.is_dir():  # else another process fetched them while this one waited
            _fetch(home, complete, report)
    return complete


def cache_folder() -> Path:
    """`$SDE_CACHE`, or `sde` in the user's cache folder."""
    chosen = os.environ.get("SDE_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sde"


@contextmanager
def _one_process_at_a_time(lock: Path, report: Report) -> Iterator[None]:
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("Waiting for another process that fetches the broker's jars")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(home: Path, complete: Path, report: Report) -> None:
    downloads = home / "ivy"  # kept after a failure: the next try goes on from there
    with tempfile.TemporaryDirectory(dir=home, prefix="fetch-") as scratch:
        jars = Path(scratch, "jars")
        command = [
            str(find_java()),
            *_NETWORK_TIMEOUTS,
            *("-jar", str(_ivy_jar())),
            *("-ivy", str(_DEPENDENCIES)),
            *("-cache", str(downloads)),
            *("-retrieve", f"{jars}/[artifact]-[revision].[ext]"),
            *("-types", "jar", "bundle"),
        ]
        report("Fetching the broker's jars (about 45 MB, once)")
        _run_ivy(command, report)
        jars.rename(complete)  # in one step: the folder is there with all its jars or not at all
    shutil.rmtree(downloads, ignore_errors=True)
    report(f"The broker's jars are in {complete}")


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")  # found, not imported: that takes a second
    if spec is None or spec.origin is None:
        raise JarsError("PySpark is not installed: install this package with its extra 'engine'.")
    found = sorted(Path(spec.origin).with_name("jars").glob("ivy-*.jar"))
    if not found:
        raise JarsError(f"No ivy-*.jar beside {spec.origin}: reinstall pyspark.")
    return found[-1]


def _run_ivy(command: list[str], report: Report) -> None:
    wanted = fetched = 0
    last_lines: deque[str] = deque(maxlen=_LINES_SHOWN_ON_FAILURE)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as ivy:
        assert ivy.stdout is not None
        for line in ivy.stdout:
            if line.strip(" .\n\t"):  # Ivy draws its downloads with dots
                last_lines.append(line.rstrip())
            if line.startswith("\tfound "):
                wanted += 1
                if wanted % _JARS_PER_PROGRESS_LINE == 0:
                    report(f"  {wanted} jars found")
            elif line.startswith("\t[SUCCESSFUL ]"):
                fetched += 1
                if fetched % _JARS_PER_PROGRESS_LINE == 0:
                    report(f"  {fetched} of {wanted} jars downloaded")
    if ivy.returncode != 0:
        raise JarsError(
            "The broker's jars could not be fetched; Ivy's last lines were:\n  "
            + "\n  ".join(last_lines)
            + "\nCheck the network (a proxy is set with JAVA_TOOL_OPTIONS=-Dhttps.proxyHost=...)"
            " and try again: what was downloaded is kept."
        )


def main() -> int:
    try:
        broker_jars(lambda line: print(line, flush=True))
    except StartupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
