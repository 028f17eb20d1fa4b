"""Schemas of records, by number: what readers ask of a schema registry, which is not theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema's text as the registry has it, which never changes for a number.

    `references` are the names and texts of the schemas that it uses, those that others of them
    use first.
    """

    form: str  # "AVRO", "PROTOBUF" or "JSON"
    text: str
    references: tuple[tuple[str, str], ...] = ()


class UnknownSchema(Exception):
    """No schema has this number: messages that name it are refused, as waiting will not help."""


Schemas = Callable[[int], Schema]
"""Raises UnknownSchema. Whatever else it raises passes through the reader to its caller."""


def no_schemas(number: int) -> Schema:
    """Of an engine without a registry."""
    raise UnknownSchema(f"schema {number}: the engine has no registry; name one in its settings")
