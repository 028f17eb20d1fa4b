"""Where the archive of Spark's classes is; service.install.warm_classes makes it."""

from __future__ import annotations

from pathlib import Path

import pyspark

from service.spark.home import made_once


def archive() -> Path:
    return made_once() / f"classes-{pyspark.__version__}.jsa"


def java_options() -> list[str]:
    """None without an archive; Java goes on without one that does not fit."""
    return [f"-XX:SharedArchiveFile={archive()}"] if archive().exists() else []
