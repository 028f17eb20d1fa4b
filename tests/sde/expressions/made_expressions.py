"""Hypothesis makes expressions of every form, and columns for them."""

import numpy as np
from hypothesis import strategies as st

from sde.expressions import Type, tree, type_of
from sde.expressions.functions import SIGNATURES, Function
from sde.tuples.column import Coded, Column
from synopses.hashing import key_text
from synopses.texts import Texts

NAMES = ["a", "b", "t", "u", "trader.id", "legs[0].price", "$key", "in", "odd name-`1`"]
LETTERS = "aBéÉ€z09 .-'\"`\\\n"  # each has one letter in either case
LARGE = [2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**53) - 1, 3037000500, 3037000499]
WHOLES = st.one_of(
    st.integers(-5, 5),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from(LARGE),
)
DECIMALS = st.one_of(
    st.sampled_from([0.5, -0.5, 1.5, 2.5, -2.5, -0.0, 0.1, 1e300, -1e300, 2.0**63, -(2.0**63)]),
    st.floats(-10, 10),
    st.floats(allow_nan=False, allow_infinity=False),
)
NUMERALS = st.one_of(
    WHOLES.map(str),
    DECIMALS.map(repr),
    st.sampled_from(["true", "false", " 12 ", "12.0", "+7", "1e3", "1e999", ".5", "0012", "2e"]),
    st.sampled_from(["9223372036854775808", "-9223372036854775809", "\t9007199254740993 ", "-"]),
)
TEXTS = st.one_of(st.text(LETTERS, max_size=6), NUMERALS)


def numbers(value):
    """A literal is not negative, and whole numbers within int64 are int."""
    value = abs(value)
    whole = isinstance(value, int) or value.is_integer()
    return tree.Number(int(value) if whole and value < 2**63 else float(value))


LITERALS = {
    Type.NUMBER: st.one_of(WHOLES, DECIMALS).map(numbers),
    Type.TEXT: TEXTS.map(tree.Text),
    Type.BOOLEAN: st.booleans().map(tree.Boolean),
}
UNKNOWN = st.one_of(st.sampled_from(NAMES).map(tree.Path), st.just(tree.Null()))


@st.composite
def expressions(draw, type_=None, depth=3):
    """Expressions that have the type, or might have it."""
    type_ = type_ or draw(st.sampled_from(list(LITERALS)))
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.one_of(UNKNOWN, LITERALS[type_]))

    def part(of=None):
        return draw(expressions(of, depth - 1))

    form = draw(st.sampled_from(FORMS[type_]))
    match form:
        case "+" | "-" | "*" | "/" | "%":
            return tree.Arithmetic(form, part(type_), part(type_))
        case "negative":
            return tree.Negative(part(type_))
        case "and" | "or":
            operands = tuple(part(type_) for _ in range(draw(st.integers(2, 3))))
            return tree.And(operands) if form == "and" else tree.Or(operands)
        case "not":
            return tree.Not(part(type_))
        case "is null":
            return tree.IsNull(part())
        case "in":
            operand, items = part(), [part() for _ in range(draw(st.integers(1, 3)))]
            return tree.In(operand, tuple(i if equatable(operand, i) else operand for i in items))
        case "==" | "!=":
            left, right = part(), part()
            return tree.Comparison(form, left, right if equatable(left, right) else left)
        case "<" | "<=" | ">" | ">=":
            own = draw(st.sampled_from([Type.NUMBER, Type.TEXT]))
            return tree.Comparison(form, part(own), part(own))
        case Function.IF:
            return tree.Call(form, (part(Type.BOOLEAN), part(type_), part(type_)))
        case Function.COALESCE:
            return tree.Call(form, (part(type_), part(type_)))
        case Function.CONCAT:
            return tree.Call(form, (part(), part(type_)))
        case Function.SUBSTRING:
            places = draw(st.lists(st.integers(0, 5).map(tree.Number), min_size=1, max_size=2))
            return tree.Call(form, (part(type_), *places))
        case Function():
            return tree.Call(form, (part(SIGNATURES[form].arguments[0]),))


CHOICES = [Function.IF, Function.COALESCE]
OF_ONE = [f for f in Function if len(SIGNATURES[f].arguments) == 1 and f not in CHOICES]
FORMS = {
    Type.NUMBER: [*"+-*/%", "negative"],
    Type.TEXT: [Function.SUBSTRING],
    Type.BOOLEAN: ["==", "!=", "<", "<=", ">", ">=", "in", "is null", "not", "and", "or"],
}
for of, forms in FORMS.items():
    forms += [*CHOICES, *(f for f in OF_ONE if SIGNATURES[f].result is of)]


def equatable(left, right):
    return {type_of(left), type_of(right)} != {Type.NUMBER, Type.BOOLEAN}


ROWS = 6
VALUES = [
    WHOLES,
    st.one_of(st.integers(-(2**53), 2**53), DECIMALS),
    TEXTS,
    st.one_of(WHOLES, DECIMALS, TEXTS),
]
COLUMNS = st.fixed_dictionaries(
    {},
    optional={
        name: st.tuples(
            st.sampled_from(VALUES).flatmap(
                lambda v: st.lists(st.one_of(st.none(), v), min_size=ROWS, max_size=ROWS)
            ),
            st.booleans(),
        )
        for name in NAMES
    },
)


def column(values, coded=False):
    """As decoding makes it: integers, decimals, or texts where neither would be exact."""
    present = [v for v in values if v is not None]
    valid = None if len(present) == len(values) else np.array([v is not None for v in values])
    if all(isinstance(v, int) for v in present):
        return Column(np.array([v or 0 for v in values], np.int64), valid)
    exact = all(isinstance(v, float) or abs(v) <= 2**53 for v in present if not isinstance(v, str))
    if exact and not any(isinstance(v, str) for v in present):
        return Column(np.array([v or 0.0 for v in values], np.float64), valid)
    texts = ["" if v is None else key_text(v) for v in values]
    if not coded:
        return Column(writable(texts), valid)
    distinct = list(dict.fromkeys(texts))
    codes = np.array([distinct.index(text) for text in texts], np.int32)
    return Column(Coded(writable(distinct), codes), valid)


def writable(texts):
    """Kernels are compiled once more for what cannot be written to."""
    made = Texts.of(texts)
    return Texts(made.buffer.copy(), made.offsets)
