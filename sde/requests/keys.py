"""Keys that questions name: of one field a value, of several a list of values."""

from __future__ import annotations

from typing import Any

import orjson

from sde.wire import Code, Definition, Refusal
from synopses.hashing import key_text


def check_key(definition: Definition, query: dict[str, Any]) -> None:
    """Refusal if no tuple can have the key that is asked for: nobody would know why it counts 0.

    The key of several fields is a list, or its text as answers have it.
    """
    key, fields = query.get("key"), definition.key_fields
    if key is None or not fields:
        return
    if len(fields) == 1:
        expected, fits = f"one value, of the field {fields[0]}", not isinstance(key, list)
    else:
        expected = f"a list of {len(fields)} values, of the fields {', '.join(fields)}"
        fits = len(_parts(key)) == len(fields)
    if not fits:
        shown = repr(key)[:80]
        raise Refusal(Code.BAD_QUERY, f"query.key={shown}: expected {expected}", "query.key")


def empty_key(definition: Definition) -> str:
    """The text of a key whose values are all empty: a question that any synopsis takes."""
    parts = [""] * len(definition.key_fields)
    return key_text(parts) if len(parts) > 1 else ""


def _parts(key: Any) -> list[Any]:
    """The values of a key, as a list or as its text."""
    if not isinstance(key, str):
        return key if isinstance(key, list) else []
    try:
        parts = orjson.loads(key)
    except orjson.JSONDecodeError:
        return []
    is_list = isinstance(parts, list) and parts and all(isinstance(part, str) for part in parts)
    return parts if is_list and key_text(parts) == key else []
