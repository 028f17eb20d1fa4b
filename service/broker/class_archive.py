"""The archive of Kafka's classes, which Java maps at its start: where it is, and the options.

service.install.warm_classes writes it, once for the jars, beside which it is.
"""

from __future__ import annotations

from pathlib import Path


def archive(jars: Path) -> Path:
    return jars.with_name(f"{jars.name}.jsa")


def java_options(jars: Path) -> list[str]:
    """None without an archive; Java goes on without one that does not fit."""
    return [f"-XX:SharedArchiveFile={archive(jars)}"] if archive(jars).exists() else []
