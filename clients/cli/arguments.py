"""The words of the command line: NAME=VALUE, uids, scopes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import click
import orjson

from clients.handle import Scope

_SCOPES: dict[str, Scope] = {"dataset": "dataset", "stream": "stream"}


def parse_values(texts: Iterable[str], options: Collection[str] = ()) -> dict[str, Any]:
    """Values are JSON where they can be, else text; `options` are names that need dashes.

    >>> parse_values(["epsilon=0.01", "key=AAPL"])
    {'epsilon': 0.01, 'key': 'AAPL'}
    """
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{text!r}: expected NAME=VALUE")
        if name in options:
            raise click.UsageError(f"{text!r}: expected --{name} {value}")
        values[name] = parse_value(value)
    return values


def parse_value(text: str) -> Any:
    """JSON if it is, else text."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def parse_question(
    words: Sequence[str], options: Collection[str]
) -> tuple[list[str], dict[str, Any]]:
    """UID... [NAME=VALUE]...: words with '=' belong to the question, the others are uids."""
    uids = [word for word in words if "=" not in word]
    if not uids:
        raise click.UsageError("expected the uid of a synopsis before the question")
    return uids, parse_values((word for word in words if "=" in word), options)


def parse_scope(text: str) -> Scope:
    """`dataset`, `stream`, or `stream=NAME` for one stream only."""
    word, equals, name = text.partition("=")
    if word == "stream" and equals and name:
        return {"stream": name}
    if text in _SCOPES:
        return _SCOPES[text]
    raise click.BadParameter(
        f"{text!r}: expected dataset, stream or stream=NAME", param_hint="--scope"
    )
