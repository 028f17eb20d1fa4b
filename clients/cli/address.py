"""Where the engine is: what the user says, or what a running `sde serve` wrote down."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

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


def named_topics(topics: Topics, texts: tuple[str, ...]) -> Topics:
    """`topics` with the names of `--topic ROLE=NAME`."""
    names = {role: getattr(topics, role) for role in Topics.__slots__}
    for role, name in parse_settings(texts).items():
        role = role.replace("-", "_")
        if role not in names:
            raise click.UsageError(
                f"--topic {role}={name}: expected one of {', '.join(names)} before the '='"
            )
        names[role] = name
    return Topics(**names)


def running_engine() -> tuple[str, Topics]:
    """Address and topics of the engine that was started with the same data folder."""
    folder = Path(os.environ.get("SDE_DATA_DIR") or "sde-data")
    path = folder / "address.json"
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        return written["bootstrap_servers"], _topics(written.get("topics", {}))
    except FileNotFoundError:
        raise click.UsageError(
            f"No engine is known here: there is no {path}. Start one in this folder with"
            " 'sde serve', name its data folder in SDE_DATA_DIR, or give its Kafka with"
            " --bootstrap-servers or SDE_BOOTSTRAP_SERVERS."
        ) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise click.UsageError(f"{path}: not written by 'sde serve': {error!r}") from error


def _topics(written: Mapping[str, Any]) -> Topics:
    names = {role: written[role] for role in Topics.__slots__ if written.get(role)}
    if isinstance(names.get("data"), list):
        names["data"] = names["data"][0]  # an engine may read several; one is enough to write to
    return Topics(**names)
