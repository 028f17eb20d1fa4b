"""Expressions evaluated row by row in plain Python: what `sde.expressions` must give, to the bit.

A value is None (missing), an int within int64, any other float, or a text.
"""

import math
import re

from sde.expressions import Type, tree, type_of
from sde.expressions.functions import Function
from sde.expressions.text_values import LONGEST_JOINED
from synopses.hashing import key_text

BLANKS = " \t\n\r\v\f"
NUMERAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
WHOLE = range(-(2**63), 2**63)


def number(value):
    """The number that a value stands for, None if it is none."""
    if isinstance(value, str):
        text = value.strip(BLANKS)
        if text in ("true", "false"):
            return int(text == "true")
        if not NUMERAL.fullmatch(text):
            return None
        if re.fullmatch("[+-]?[0-9]+", text) and int(text) in WHOLE:
            return int(text)
        value = float(text)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and int(value) in WHOLE else value
    return value


def arithmetic(operator, a, b):
    if a is None or b is None:
        return None
    if isinstance(a, int) and isinstance(b, int):
        exact = exact_result(operator, a, b)
        if exact is not None and exact in WHOLE:
            return exact
    a, b = float(a), float(b)
    if operator in "/%" and b == 0:
        return None
    try:
        return number({"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b,
                       "/": lambda: a / b, "%": lambda: math.fmod(a, b)}[operator]())  # fmt: skip
    except OverflowError:
        return None


def exact_result(operator, a, b):
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a // b if b and a % b == 0 else None
        case "%":
            return None if b == 0 else int(math.copysign(1, a)) * (abs(a) % abs(b))


def function_of(function, a):
    if a is None:
        return None
    match function:
        case Function.ABS:
            return turned(a) if a < 0 else a
        case Function.FLOOR:
            return a if isinstance(a, int) else number(float(math.floor(a)))
        case Function.ROUND:
            return a if isinstance(a, int) else number(rounded(a))
        case Function.SQRT:
            return number(math.sqrt(a)) if a >= 0 else None
        case Function.LOG:
            return number(math.log(a)) if a > 0 else None


def turned(a):
    """The number with the other sign: of the least int64 it is beyond int64."""
    return float(-a) if isinstance(a, int) and -a not in WHOLE else number(-a)


def rounded(a):
    low = math.floor(a)
    if a - low == 0.5:
        return float(low if a < 0 else low + 1)
    return float(round(a))


def compared(comparator, a, b):
    if a is None or b is None:
        return None
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[
        comparator
    ]


def text(value):
    return None if value is None else key_text(value)


def equality(a, b):
    return compared("==", text(a), text(b))


def order(comparator, node, row):
    a, b = value(node.left, row), value(node.right, row)
    types = {type_of(node.left), type_of(node.right)}
    if Type.NUMBER in types:
        return compared(comparator, number(a), number(b))
    if Type.TEXT in types:
        return compared(comparator, text(a), text(b))
    if a is None or b is None or (number(a) is None) != (number(b) is None):
        return None
    return compared(comparator, a, b) if number(a) is None else compared(
        comparator, number(a), number(b)
    )  # fmt: skip


def any_of(truths):
    return True if True in truths else None if None in truths else False


def negated(truth):
    return None if truth is None else not truth


def truth(node, row):
    match node:
        case tree.Boolean(value_):
            return value_
        case tree.Comparison("==", left, right):
            return equality(value(left, row), value(right, row))
        case tree.Comparison("!=", left, right):
            return negated(equality(value(left, row), value(right, row)))
        case tree.Comparison(comparator):
            return order(comparator, node, row)
        case tree.In(operand, items):
            found = value(operand, row)
            return any_of([equality(found, value(item, row)) for item in items])
        case tree.IsNull(operand):
            return value(operand, row) is None
        case tree.Not(operand):
            return negated(truth(operand, row))
        case tree.And(operands):
            return negated(any_of([negated(truth(o, row)) for o in operands]))
        case tree.Or(operands):
            return any_of([truth(o, row) for o in operands])
        case _:
            return {"true": True, "false": False}.get(value(node, row))


def value(node, row):
    match node:
        case tree.Null():
            return None
        case tree.Number(value_) | tree.Text(value_):
            return value_
        case tree.Path(name):
            return row.get(name)
        case tree.Negative(operand):
            found = number(value(operand, row))
            return None if found is None else turned(found)
        case tree.Arithmetic(operator, left, right):
            return arithmetic(operator, number(value(left, row)), number(value(right, row)))
        case tree.Call(function, arguments):
            return call(function, arguments, row)
        case _:
            found = truth(node, row)
            return None if found is None else key_text(found)


def call(function, arguments, row):
    match function:
        case Function.IF:
            return value(arguments[1 if truth(arguments[0], row) is True else 2], row)
        case Function.COALESCE:
            return next((v for v in (value(a, row) for a in arguments) if v is not None), None)
        case Function.ABS | Function.FLOOR | Function.ROUND | Function.SQRT | Function.LOG:
            return function_of(function, number(value(arguments[0], row)))
    texts = [text(value(argument, row)) for argument in arguments]
    if None in texts:
        return None
    match function:
        case Function.LOWER:
            return texts[0].lower()
        case Function.UPPER:
            return texts[0].upper()
        case Function.LENGTH:
            return len(texts[0])
        case Function.SUBSTRING:
            start = int(texts[1])
            return texts[0][start : start + int(texts[2]) if len(texts) > 2 else None]
        case Function.CONCAT:
            joined = "".join(texts)
            return joined if len(joined.encode()) <= LONGEST_JOINED else None
