"""Writes archives of Spark's and Kafka's loaded classes, which save seconds at every start.

`python -m service.install.warm_classes` starts a broker and an engine once and has their JVMs write
the classes they loaded to files (class data archives), which later ones map. A file belongs to one
installation: Java ignores it if its own version or the jars are not those it was written for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyspark
from pyspark import SparkContext

from service.broker import class_archive as kafka_archive
from service.broker.embedded import EmbeddedBroker
from service.broker.jars import broker_jars
from service.engine.engine import Engine
from service.java import find_java
from service.settings import Settings
from service.spark.class_archive import archive

_SECONDS_TO_WRITE = 120


def main() -> None:
    jars = broker_jars()
    _make(kafka_archive.archive(jars), "Kafka", partial(_archive_kafka, jars))
    _make(archive(), f"Spark {pyspark.__version__}", _archive_spark)


def _make(target: Path, product: str, write: Callable[[Path, Path], None]) -> None:
    """`write` gets a folder to work in and the file to write."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(f".{os.getpid()}.part")
    with tempfile.TemporaryDirectory(prefix="sde-classes-") as folder:
        write(Path(folder), part)
    if part.exists():
        part.rename(target)
        print(f"{target.stat().st_size >> 20} MB of {product}'s classes")
    else:
        print(f"Java wrote no archive of {product}'s; engines start without it", file=sys.stderr)


def _archive_kafka(jars: Path, folder: Path, part: Path) -> None:
    """From a list of the classes: a broker that is stopped has no time to write an archive."""
    loaded = folder / "classes"
    os.environ["JDK_JAVA_OPTIONS"] = f"-XX:DumpLoadedClassList={loaded}"  # read by every Java
    with EmbeddedBroker(folder / "broker"):
        pass
    del os.environ["JDK_JAVA_OPTIONS"]
    options = (f"-XX:SharedClassListFile={loaded}", f"-XX:SharedArchiveFile={part}")
    subprocess.run(
        [find_java(), "-Xshare:dump", *options, "-cp", f"{jars}/*"],
        capture_output=True,
        timeout=_SECONDS_TO_WRITE,
    )


def _archive_spark(folder: Path, part: Path) -> None:
    # Read by Spark's launcher; its own setting for this has our other options.
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={part}"
    with Engine(replace(Settings(), data_dir=folder)):
        pass
    _end_java()


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
