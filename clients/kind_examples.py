"""Examples of kinds, in Python and for the shell; the tests run them."""

from __future__ import annotations

from typing import Any

import orjson

from clients.suggestions import OF_ESTIMATE
from sde.wire.catalogue import KindInfo, QuestionInfo

_COORDINATES = ("x", "y", "z")


def plainly(value: Any) -> str:
    """As one would write it on the command line."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def example_fields(kind: KindInfo) -> tuple[str, list[str]]:
    """The fields that the examples name: of the key ("" for none), and of the values."""
    key, needed = "trader" if kind.needs_key else "", kind.values_needed
    if needed == 1:
        return key, ["volume" if kind.value_is_optional else "price"]
    count = 2 if isinstance(needed, str) else needed
    return key, [*(kind.value_names or _COORDINATES[:count])]


def _asked(kind: KindInfo) -> list[QuestionInfo]:
    """The questions that the examples ask: those that need nothing but this synopsis."""
    alone = [question for question in kind.questions if not question.others]
    across = [question for question in alone if question.across]
    return [*alone[:1], *across]


def python_example(kind: KindInfo) -> list[str]:
    key, values = example_fields(kind)
    words = [repr(kind.kind), 'dataset="Forex"']
    words += [f'key="{key}"'] if key else []
    if values:
        named = orjson.dumps(values[0] if len(values) == 1 else values).decode()
        words.append(f"value={named.replace(',', ', ')}")
    words += [] if kind.mergeable else ['scope="stream"']
    lines = [f"synopsis = sde.create({', '.join(words).replace(chr(39), chr(34))})"]
    for question in _asked(kind):
        said = [f'"{question.name}"']
        taken = {n: v for n, v in question.example.items() if n in OF_ESTIMATE}
        said += [f"query={_literal(taken)}"] if taken else []
        said += [f"{n}={_literal(v)}" for n, v in question.example.items() if n not in OF_ESTIMATE]
        said += [] if kind.mergeable or question.across else ['stream="a"']
        lines.append(f"synopsis.estimate({', '.join(said)})")
    return lines


def _literal(value: Any) -> str:
    return orjson.dumps(value).decode().replace(",", ", ").replace('":', '": ')


def shell_example(kind: KindInfo) -> list[str]:
    key, values = example_fields(kind)
    words = ["sde create", kind.kind, "--dataset Forex --uid example"]
    words += [f"--key {key}"] if key else []
    words += [f"--value {value}" for value in values]
    words += [] if kind.mergeable else ["--scope stream"]
    lines = [" ".join(words)]
    for question in _asked(kind):
        said = ["sde estimate example --ask", question.name]
        said += [f"{name}={plainly(value)}" for name, value in question.example.items()]
        said += [] if kind.mergeable or question.across else ["--stream a"]
        lines.append(" ".join(said))
    return lines
