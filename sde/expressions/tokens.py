"""The text of an expression as tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from sde.expressions.errors import ExpressionError
from sde.expressions.tree import KEYWORDS, PLAIN_NAME


class Kind(StrEnum):
    NUMBER = "number"
    TEXT = "text"
    NAME = "name"
    QUOTED_NAME = "quoted_name"
    WORD = "word"  # of the language: a keyword, an operator, a bracket, a comma
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """`text` as it stands there, of texts and quoted names without the quotes."""

    kind: Kind
    text: str
    at: int

    def __str__(self) -> str:
        if self.kind is Kind.END:
            return "the end"
        return repr(self.text if len(self.text) <= 40 else self.text[:37] + "...")


_TOKEN = re.compile(
    rf"""(?P<blank>\s+)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    | (?P<quoted_name>`(?:[^`]|``)+`)
    | (?P<name>{PLAIN_NAME})
    | (?P<word>==|!=|<=|>=|[-+*/%<>(),])""",
    re.VERBOSE,
)
_ELSEWHERE = {"=": "==", "<>": "!=", "&&": "and", "||": "or", "!": "not"}  # in other languages


def tokens(text: str) -> Iterator[Token]:
    """The tokens, END last; ExpressionError where something is none."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ExpressionError(at, _unreadable(text, at))
        if found.lastgroup != "blank":
            yield _token(Kind(found.lastgroup or ""), found.group(), at)
        at = found.end()
    yield Token(Kind.END, "", len(text))


def _token(kind: Kind, text: str, at: int) -> Token:
    if kind in (Kind.TEXT, Kind.QUOTED_NAME):
        quote = text[0]
        return Token(kind, text[1:-1].replace(quote * 2, quote), at)
    if kind is Kind.NAME and text in KEYWORDS:
        return Token(Kind.WORD, text, at)
    return Token(kind, text, at)


def _unreadable(text: str, at: int) -> str:
    if text[at] in "'\"`":
        return f"found {text[at]}, which is never closed"
    for length in (2, 1):
        meant = _ELSEWHERE.get(text[at : at + length])
        if meant is not None:
            return f"found {text[at : at + length]!r}. Did you mean {meant}?"
    return f"found {text[at]!r}, expected a value or an operator; other names stand in `backticks`"
