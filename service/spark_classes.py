"""Where the archive of Spark's classes is; service.warm_classes makes it."""

from __future__ import annotations

import sys
from pathlib import Path

import pyspark


def archive() -> Path:
    """In the environment that has the jars, so that both go together."""
    return Path(sys.prefix) / "var" / "sde" / f"classes-{pyspark.__version__}.jsa"


def java_options() -> list[str]:
    """None without an archive; Java goes on without one that does not fit."""
    return [f"-XX:SharedArchiveFile={archive()}"] if archive().exists() else []
