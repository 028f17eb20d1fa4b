"""The options that say how to reach Kafka: settings of librdkafka, and names of topics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from clients.address import named_topics
from clients.errors import BadInput
from clients.transport import Topics

SERVERS = "bootstrap.servers"


def read_settings(path: Path) -> dict[str, Any]:
    """librdkafka settings from a file: a JSON object, or lines of `key=value`."""
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise click.UsageError(f"{path}: expected a JSON object: {error}") from error
    lines = (line.strip() for line in text.splitlines())
    return parse_settings(line for line in lines if line and line[0] not in "#!")


def parse_settings(texts: Any) -> dict[str, str]:
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"{text!r}: expected KEY=VALUE")
        settings[name.strip()] = value.strip()
    return settings


def with_topics(topics: Topics, texts: tuple[str, ...]) -> Topics:
    """`topics` with the names of `--topic ROLE=NAME`."""
    names = {role.replace("-", "_"): name for role, name in parse_settings(texts).items()}
    try:
        return named_topics(topics, names)
    except BadInput as error:
        raise click.UsageError(f"--topic: {error}") from error
