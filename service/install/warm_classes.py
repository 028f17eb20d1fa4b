"""Spark's classes as Java keeps them in memory, written to a file: four seconds off every start.

`python -m service.install.warm_classes` starts an engine once and has its Java write down the
classes it loaded (a class data archive); engines map the file from then on. It belongs to one
installation: Java checks that its own version and the jars are those it was written for, and
leaves it otherwise.
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
from service.spark.classes import archive

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
    """It writes the archive as it ends, which is when nobody talks to it any more."""
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    java = gateway.proc
    java.stdin.close()
    java.wait(_SECONDS_TO_WRITE)


if __name__ == "__main__":
    main()
