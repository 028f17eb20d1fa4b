"""Finds Java. Run as `python -m service.java` to check a machine before anything is installed:
so this file needs nothing but the standard library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from service.startup_errors import JavaError

OLDEST_JAVA = 17
_REMEDY = f"install Java {OLDEST_JAVA} or newer and put it on PATH or name it in JAVA_HOME"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')  # "1.8.0_292" is Java 8


def find_java() -> Path:
    """The `java` to run: JAVA_HOME's if that is set (as Spark does), else the first on PATH."""
    executable = _from_java_home() or _from_path()
    version = _major_version(executable)
    if version < OLDEST_JAVA:
        raise JavaError(f"{executable} is Java {version}, which is too old: {_REMEDY}.")
    return executable


def _from_java_home() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    if not home:
        return None
    executable = Path(home, "bin", "java")
    if not os.access(executable, os.X_OK):
        raise JavaError(f"JAVA_HOME={home} has no bin/java: {_REMEDY}.")
    return executable


def _from_path() -> Path:
    found = shutil.which("java")
    if found is None:
        raise JavaError(f"No Java was found (JAVA_HOME is not set, PATH has no java): {_REMEDY}.")
    return Path(found)


def _major_version(executable: Path) -> int:
    try:
        done = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, errors="replace", timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaError(f"{executable} does not run ({error}): {_REMEDY}.") from error
    output = done.stderr + done.stdout
    match = _VERSION.search(output)
    if match is None:
        first_line = output.strip().partition("\n")[0]
        raise JavaError(f"{executable} does not tell its version ({first_line!r}): {_REMEDY}.")
    return int(match.group(1))


def main() -> int:
    try:
        find_java()
    except JavaError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
