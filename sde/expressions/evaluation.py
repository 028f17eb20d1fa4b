"""An expression and columns become a column: whole arrays at a time, never row by row in Python.

A missing operand gives a missing result; `and`, `or`, `not` and `in` are those of SQL: `null or
true` is true. A value is taken as what its place needs:

    a number     texts that look like one too, as programs send them; otherwise missing
    true, false  the texts `true` and `false`, which is how fields hold them; otherwise missing
    a text       the text form that keys have: of 12.0 it is "12"

`==`, `!=` and `in` compare text forms, as keys do: the number 12 and the text "12" are equal.
`<` and its like compare numbers if one side is known to be one, texts (by the numbers of their
characters) if one side is known to be one. Of two fields, two numbers are compared as numbers,
two other texts as texts, and a number with another text is missing.

A row's result depends on no other row, so it is the same however tuples are put into blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from sde.expressions import text_values, tree
from sde.expressions.choosing import choose, number_column
from sde.expressions.functions import Function
from sde.expressions.numbers import Numbers
from sde.expressions.tree import Expression
from sde.expressions.truth import Orders, Truth
from sde.expressions.types import Type, type_of
from sde.kernels.numbers import NOT_COMPARABLE
from sde.tuples.column import Coded, Column
from synopses.texts import Texts

_AT_ONCE = 65_536  # rows: what a condition computes in between stays in the processor's cache


def evaluate(expression: Expression, columns: Mapping[str, Column], rows: int) -> Column:
    """The value of each row; a path that is not among the columns is missing in all of them."""
    return _Evaluation(columns, rows).column(expression)


def holds(expression: Expression, columns: Mapping[str, Column], rows: int) -> NDArray[np.bool_]:
    """Where the expression is true: neither false nor missing."""
    out = np.empty(rows, np.bool_)
    used = {name: columns[name] for name in tree.paths(expression) if name in columns}
    for start in range(0, rows, _AT_ONCE):
        end = min(start + _AT_ONCE, rows)
        piece = {name: _piece(column, start, end) for name, column in used.items()}
        out[start:end] = _Evaluation(piece, end - start).truth(expression).true
    return out


def _piece(column: Column, start: int, end: int) -> Column:
    valid = None if column.valid is None else column.valid[start:end]
    if isinstance(column.data, Coded):
        return Column(Coded(column.data.texts, column.data.codes[start:end]), valid)
    if isinstance(column.data, Texts):
        return Column(Texts(column.data.buffer, column.data.offsets[start : end + 1]), valid)
    return Column(column.data[start:end], valid)


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """`column`, `numbers` and `truth` give the value of a node as its place needs it."""

    columns: Mapping[str, Column]
    rows: int

    def column(self, node: Expression) -> Column:
        match node:
            case tree.Null():
                return Column.missing(self.rows)
            case tree.Text(text):
                return text_values.constant(text, self.rows)
            case tree.Path(name):
                return self._field(name)
            case tree.Number() | tree.Negative() | tree.Arithmetic():
                return number_column(self.numbers(node))
            case tree.Call(function, arguments):
                return self._call(function, arguments)
            case tree.Boolean() | tree.Comparison() | tree.In() | tree.IsNull():
                return self.truth(node).column()
            case tree.Not() | tree.And() | tree.Or():
                return self.truth(node).column()
            case _:
                assert_never(node)

    def numbers(self, node: Expression) -> Numbers:
        match node:
            case tree.Number(value):
                return Numbers.constant(value, self.rows)
            case tree.Negative(operand):
                return self.numbers(operand).negative()
            case tree.Arithmetic(operator, left, right):
                return self.numbers(left).arithmetic(operator, self.numbers(right))
            case tree.Call(
                Function.ABS
                | Function.FLOOR
                | Function.ROUND
                | Function.SQRT
                | Function.LOG as function,
                (argument,),
            ):
                return self.numbers(argument).function(function)
            case _:
                return Numbers.of(self.column(node))

    def truth(self, node: Expression) -> Truth:
        match node:
            case tree.Boolean(value):
                return Truth.constant(value, self.rows)
            case tree.Comparison("==" | "!=" as comparator, left, right):
                return Truth.of_orders(comparator, self._equalities(self.column(left), right))
            case tree.Comparison(comparator, left, right):
                return Truth.of_orders(comparator, self._orders(left, right))
            case tree.In(operand, items):
                return self._is_one_of(self.column(operand), items)
            case tree.IsNull(operand):
                valid = self.column(operand).valid
                return Truth.known(np.zeros(self.rows, np.bool_) if valid is None else ~valid)
            case tree.Not(operand):
                return ~self.truth(operand)
            case tree.And(operands):
                return reduce(and_, map(self.truth, operands))
            case tree.Or(operands):
                return reduce(or_, map(self.truth, operands))
            case _:
                return text_values.truth(self.column(node))

    def _field(self, name: str) -> Column:
        column = self.columns.get(name)
        if column is None:
            return Column.missing(self.rows)
        if not isinstance(column.data, np.ndarray) or column.data.dtype == np.int64:
            return column
        finite = np.isfinite(column.data)
        if finite.all():
            return column
        return Column(column.data, finite if column.valid is None else finite & column.valid)

    def _call(self, function: Function, arguments: tuple[Expression, ...]) -> Column:
        match function:
            case Function.ABS | Function.FLOOR | Function.ROUND | Function.SQRT | Function.LOG:
                return number_column(self.numbers(tree.Call(function, arguments)))
            case Function.LOWER | Function.UPPER:
                return text_values.cased(function, self.column(arguments[0]))
            case Function.LENGTH:
                return text_values.length(self.column(arguments[0]))
            case Function.SUBSTRING:
                places = [int(a.value) for a in arguments[1:] if isinstance(a, tree.Number)]
                start, length = places[0], places[1] if len(places) > 1 else None
                return text_values.substring(self.column(arguments[0]), start, length)
            case Function.CONCAT:
                return text_values.joined([self.column(a) for a in arguments])
            case Function.COALESCE:
                return self._coalesced([self.column(a) for a in arguments])
            case Function.IF:
                which = np.where(self.truth(arguments[0]).true, 0, 1)
                return choose([self.column(a) for a in arguments[1:]], which)
            case _:
                assert_never(function)

    def _coalesced(self, columns: list[Column]) -> Column:
        missing = np.stack([self._is_missing(column) for column in columns])
        return choose(columns, np.argmin(missing, axis=0))

    def _is_missing(self, column: Column) -> NDArray[np.bool_]:
        return np.zeros(self.rows, np.bool_) if column.valid is None else ~column.valid

    def _is_one_of(self, a: Column, items: tuple[Expression, ...]) -> Truth:
        """Texts are looked up among all that are written out; the rest is compared one by one."""
        written: list[str] = []
        if not isinstance(a.data, np.ndarray):
            written = [text for item in items if (text := _literal(item)) is not None]
            items = tuple(item for item in items if _literal(item) is None)
        found = [text_values.one_of(a, written)] if written else []
        found += [Truth.of_orders("==", self._equalities(a, item)) for item in items]
        return reduce(or_, found)

    def _equalities(self, a: Column, right: Expression) -> Orders:
        """0 where the text forms are equal; numbers are equal if their texts are."""
        numeric = isinstance(a.data, np.ndarray)
        text = None if numeric else _literal(right)
        b = self.column(right) if text is None else text_values.constant(text, self.rows)
        if numeric and isinstance(b.data, np.ndarray):
            return Numbers.of(a).orders(Numbers.of(b))
        return text_values.orders(a, b)

    def _orders(self, left: Expression, right: Expression) -> Orders:
        types = {type_of(left), type_of(right)}
        if Type.NUMBER in types:
            return self.numbers(left).orders(self.numbers(right))
        a, b = self.column(left), self.column(right)
        if Type.TEXT in types:
            return text_values.orders(a, b)
        a_numbers, b_numbers = Numbers.of(a), Numbers.of(b)
        orders = a_numbers.orders(b_numbers)
        if isinstance(a.data, np.ndarray) and isinstance(b.data, np.ndarray):
            return orders
        unlike = a_numbers.present != b_numbers.present
        both = a_numbers.present & b_numbers.present
        texts = text_values.orders(a, b)
        return np.where(both, orders, np.where(unlike, np.int8(NOT_COMPARABLE), texts))


def _literal(node: Expression) -> str | None:
    """The text form of a value that is written out."""
    match node:
        case tree.Text(text):
            return text
        case tree.Number() | tree.Boolean():
            return str(node)
        case _:
            return None
