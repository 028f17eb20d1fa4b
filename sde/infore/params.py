"""The array `param`: entries by place, texts or numbers, with refusals that name the entry."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from sde.infore.envelope import shown, whole
from sde.wire import Code, Refusal
from sde.wire.forms import LONGEST_NAME, InforeMessage
from synopses import QueryError
from synopses.hashing import key_text

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_LONGEST_NUMBER = 40


class Params:
    """Reading refuses with `code`: parameters of an add or arguments of a question."""

    def __init__(self, message: InforeMessage, code: Code = Code.BAD_PARAMETER) -> None:
        entries = message.get("param")
        if entries is not None and not isinstance(entries, list):
            raise Refusal(code, f"param={shown(entries)}: expected an array", "param")
        self._entries: list[Any] = entries or []
        self._code = code

    def __len__(self) -> int:
        return len(self._entries)

    def refuse(self, place: int, expected: str) -> NoReturn:
        name = f"param[{place}]"
        raise Refusal(self._code, f"{name}={shown(self._entry(place))}: expected {expected}", name)

    def _entry(self, place: int) -> Any:
        return self._entries[place] if 0 <= place < len(self._entries) else None

    def key(self, place: int, expected: str = "a key") -> str:
        """A text without the blanks around it; a number stands for its digits."""
        value = self._entry(place)
        if isinstance(value, str | int | float):
            try:
                text = key_text(value).strip()
            except QueryError:  # no key at all: infinite, or of thousands of digits
                text = ""
            if text:
                return text
        self.refuse(place, expected)

    def field(self, place: int, expected: str) -> str:
        """The name of a field of the tuples."""
        name = self.key(place, expected)
        if len(name) > LONGEST_NAME:
            self.refuse(place, f"{expected} of at most {LONGEST_NAME} characters")
        return name

    def number(self, place: int, expected: str, allows: Callable[[float], bool]) -> float:
        value = self._entry(place)
        if isinstance(value, str):
            text = value.strip()
            fits = len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text)
            value = float(text) if fits else None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not allows(value):
            self.refuse(place, expected)
        return float(value)

    def whole(self, place: int, expected: str, least: int, most: int) -> int:
        value = whole(self._entry(place))
        if value is None or not least <= value <= most:
            self.refuse(place, expected)
        return value

    def is_null(self, place: int) -> bool:
        """Whether the entry is there and JSON's null."""
        return place < len(self._entries) and self._entries[place] is None
