"""The archive of Spark's classes, which Java maps at its start: where it is, and the options.

service.install.warm_classes writes it, once for an installation.
"""

from __future__ import annotations

from pathlib import Path

import pyspark

from service.spark.home import installation_folder


def archive() -> Path:
    return installation_folder() / f"classes-{pyspark.__version__}.jsa"


def java_options() -> list[str]:
    """None without an archive; Java goes on without one that does not fit."""
    return [f"-XX:SharedArchiveFile={archive()}"] if archive().exists() else []
