"""Writes an archive of Spark's loaded classes, which saves four seconds at every start.

`python -m service.install.warm_classes` starts an engine once and has its JVM write the classes it
loaded to a file (a class data archive), which later engines map. The file belongs to one
installation: Java ignores it if its own version or the jars are not those it was written for.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pyspark
from pyspark import SparkContext

from service.engine.engine import Engine
from service.settings import Settings
from service.spark.class_archive import archive

_SECONDS_TO_WRITE = 120


def main() -> None:
    target = archive()
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(f".{os.getpid()}.part")
    # Read by Spark's launcher; its own setting for this has our other options.
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={part}"
    with tempfile.TemporaryDirectory(prefix="sde-classes-") as folder:
        with Engine(replace(Settings(), data_dir=Path(folder))):
            pass
        _end_java()
    if part.exists():
        part.rename(target)
        print(f"{target.stat().st_size >> 20} MB of Spark {pyspark.__version__}'s classes")
    else:
        print("Java wrote no class archive; engines start without it", file=sys.stderr)


def _end_java() -> None:
    """End the JVM, which writes the archive then. It ends when its standard input is closed."""
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    java = gateway.proc
    java.stdin.close()
    java.wait(_SECONDS_TO_WRITE)


if __name__ == "__main__":
    main()
