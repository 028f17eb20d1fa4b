"""Values of settings: what TOML, a variable or a flag says, as the type that is declared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from sde.wire.nearest import nearest

Table = TypeVar("Table")
_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "Path": "a path",
    "Path | None": "a path",
    "tuple[str, ...]": "texts: a list, or with commas between",
}


class SettingsError(Exception):
    """A setting is unknown or has an impossible value; the message says which and what to do."""


def read_value(name: str, kind: str, value: Any) -> Any:
    """A value as the type that the field is declared with.

    >>> read_value("shards", "int", "4"), read_value("data", "tuple[str, ...]", "a, b")
    (4, ('a', 'b'))
    """
    try:
        match kind:
            case "int" if not isinstance(value, float) or value.is_integer():
                return int(value)
            case "float":
                return float(value)
            case "Path" | "Path | None":
                return Path(value)
            case "tuple[str, ...]":
                texts = value.split(",") if isinstance(value, str) else map(str, value)
                return tuple(text.strip() for text in texts if text.strip())
            case "str" if not isinstance(value, Mapping):
                return str(value)
    except (TypeError, ValueError):
        pass
    raise SettingsError(f"{name}={value!r}: expected {_EXPECTED[kind]}")


def read_table(name: str, form: type[Table], value: Any) -> Table:
    """The table `[name]` of a TOML file as the dataclass that declares its settings."""
    if not isinstance(value, Mapping):
        raise SettingsError(f"{name}={value!r}: expected a table [{name}] in the file of --config")
    known = {each.name: str(each.type) for each in fields(form)}  # type: ignore[arg-type]
    refuse_unknown(value, known, f" in the table [{name}]")
    return form(**{each: read_value(f"{name}.{each}", known[each], value[each]) for each in value})


def refuse_unknown(said: Collection[str], known: Collection[str], where: str = "") -> None:
    for name in said:
        if name not in known:
            raise SettingsError(
                f"unknown setting {name!r}{where}: expected one of {', '.join(known)}."
                f" {nearest(name, known)}".rstrip()
            )
