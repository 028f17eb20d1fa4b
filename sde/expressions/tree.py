"""An expression as a tree of small nodes, and its canonical text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, assert_never

from sde.expressions.functions import Function

Operator = Literal["+", "-", "*", "/", "%"]
Comparator = Literal["==", "!=", "<", "<=", ">", ">="]

KEYWORDS = frozenset({"and", "or", "not", "in", "is", "null", "true", "false"})
PLAIN_NAME = r"\$?[^\W\d]\w*(?:\.\$?[^\W\d]\w*|\[[0-9]+\])*"
_plain = re.compile(PLAIN_NAME).fullmatch


class Binding(IntEnum):
    """How tightly a form holds its operands; one that holds looser than asked needs brackets."""

    OR = 1
    AND = 2
    NOT = 3
    COMPARISON = 4
    SUM = 5
    PRODUCT = 6
    NEGATIVE = 7
    ATOM = 8


class _Node:
    """`str` is the canonical text: it parses to an equal tree, and equal trees have equal texts."""

    __slots__ = ()

    def __str__(self) -> str:
        return _write(self)[1]  # type: ignore[arg-type]  # the nodes are the only subclasses


@dataclass(frozen=True, slots=True)
class Null(_Node):
    """`null`: a missing value."""


@dataclass(frozen=True, slots=True)
class Boolean(_Node):
    value: bool


@dataclass(frozen=True, slots=True)
class Number(_Node):
    """Not negative; whole numbers within int64 are int, all others float."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Text(_Node):
    value: str


@dataclass(frozen=True, slots=True)
class Path(_Node):
    """A column's name: `a`, `a.b`, `a[0].c`, `$key`, or whatever stood in backticks."""

    name: str


@dataclass(frozen=True, slots=True)
class Negative(_Node):
    operand: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic(_Node):
    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Comparison(_Node):
    comparator: Comparator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class In(_Node):
    operand: Expression
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class IsNull(_Node):
    operand: Expression


@dataclass(frozen=True, slots=True)
class Not(_Node):
    operand: Expression


@dataclass(frozen=True, slots=True)
class And(_Node):
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(_Node):
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Call(_Node):
    function: Function
    arguments: tuple[Expression, ...]


Expression = (
    Null | Boolean | Number | Text | Path
    | Negative | Arithmetic | Comparison | In | IsNull | Not | And | Or | Call
)  # fmt: skip


def children(node: Expression) -> tuple[Expression, ...]:
    match node:
        case Null() | Boolean() | Number() | Text() | Path():
            return ()
        case Negative(operand) | IsNull(operand) | Not(operand):
            return (operand,)
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            return left, right
        case In(operand, items):
            return operand, *items
        case And(operands) | Or(operands) | Call(_, operands):
            return operands
        case _:
            assert_never(node)


def nodes(expression: Expression) -> Iterator[Expression]:
    """The expression and all parts of it."""
    yield expression
    for child in children(expression):
        yield from nodes(child)


def paths(expression: Expression) -> frozenset[str]:
    """The names of the columns that the expression reads."""
    return frozenset(node.name for node in nodes(expression) if isinstance(node, Path))


def _write(node: Expression) -> tuple[Binding, str]:
    match node:
        case Null():
            return Binding.ATOM, "null"
        case Boolean(value):
            return Binding.ATOM, "true" if value else "false"
        case Number(number):
            return Binding.ATOM, repr(number)
        case Text(text):
            return Binding.ATOM, _quoted(text, "'")
        case Path(name):
            plain = _plain(name) and name not in KEYWORDS
            return Binding.ATOM, name if plain else _quoted(name, "`")
        case Negative(operand):
            return Binding.NEGATIVE, f"-{_operand(operand, Binding.NEGATIVE)}"
        case Arithmetic(operator, left, right):
            own = Binding.SUM if operator in "+-" else Binding.PRODUCT
            rest = Binding(own + 1)
            return own, f"{_operand(left, own)} {operator} {_operand(right, rest)}"
        case Comparison(comparator, left, right):
            first, second = _operand(left, Binding.SUM), _operand(right, Binding.SUM)
            return Binding.COMPARISON, f"{first} {comparator} {second}"
        case In(operand, items):
            return Binding.COMPARISON, f"{_operand(operand, Binding.SUM)} in ({_listed(items)})"
        case IsNull(operand):
            return Binding.COMPARISON, f"{_operand(operand, Binding.SUM)} is null"
        case Not(In(operand, items)):
            return Binding.COMPARISON, f"{_operand(operand, Binding.SUM)} not in ({_listed(items)})"
        case Not(IsNull(operand)):
            return Binding.COMPARISON, f"{_operand(operand, Binding.SUM)} is not null"
        case Not(operand):
            return Binding.NOT, f"not {_operand(operand, Binding.NOT)}"
        case And(operands):
            return Binding.AND, " and ".join(_operand(o, Binding.NOT) for o in operands)
        case Or(operands):
            return Binding.OR, " or ".join(_operand(o, Binding.AND) for o in operands)
        case Call(function, arguments):
            return Binding.ATOM, f"{function}({_listed(arguments)})"
        case _:
            assert_never(node)


def _operand(node: Expression, least: Binding) -> str:
    binding, text = _write(node)
    return text if binding >= least else f"({text})"


def _listed(items: tuple[Expression, ...]) -> str:
    return ", ".join(map(str, items))


def _quoted(text: str, quote: str) -> str:
    return quote + text.replace(quote, quote * 2) + quote
