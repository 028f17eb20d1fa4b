"""The text of an expression becomes a tree: a parser by binding powers (Pratt 1973)."""

from __future__ import annotations

from typing import cast

from sde.expressions import tree
from sde.expressions.errors import ExpressionError
from sde.expressions.functions import SIGNATURES, Function, Signature
from sde.expressions.tokens import Kind, Token, tokens
from sde.expressions.tree import Binding, Expression
from sde.expressions.types import Type, agreed, type_of
from sde.wire.nearest import nearest

LONGEST = 4_000  # characters
MOST_NODES = 256
DEEPEST = 48  # levels; a chain such as a + b + c has one for each operator

_BINDINGS = {
    "or": Binding.OR,
    "and": Binding.AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in", "not", "is"), Binding.COMPARISON),
    **dict.fromkeys("+-", Binding.SUM),
    **dict.fromkeys("*/%", Binding.PRODUCT),
}
_LARGEST_WHOLE = 2**63 - 1
_A_VALUE = "expected a value: a field, a number, a text, a function or '('"


def parse(text: str, *, result: Type = Type.UNKNOWN) -> Expression:
    """The expression that the text says, whose result can be of that type; else ExpressionError.

    >>> str(parse("not(a<=3 or b is null)"))
    'not (a <= 3 or b is null)'
    >>> parse("lowr(a)")
    Traceback (most recent call last):
        ...
    sde.expressions.errors.ExpressionError: at character 1: found 'lowr', expected a function. \
Did you mean lower? There are abs, floor, round, sqrt, log, lower, upper, length, substring, \
concat, coalesce, if
    """
    if len(text) > LONGEST:
        raise ExpressionError(LONGEST, f"{len(text):,} characters, expected at most {LONGEST:,}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ExpressionError(error.start, "found half of a surrogate pair, no character") from None
    return _Parser(text).whole(result)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(tokens(text))
        self._next = 0
        self._nodes = self._depth = 0

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def whole(self, result: Type) -> Expression:
        expression = self._expression(Binding.OR)
        if self._token.kind is not Kind.END:
            raise _found(self._token, f"expected an operator or the end{self._hint()}")
        _require(expression, result, 0, "as the result")
        return expression

    def _hint(self) -> str:
        token = self._token
        lower = token.text.lower()
        if token.kind is Kind.NAME and lower in tree.KEYWORDS:
            return f". Did you mean {lower}?"
        if _BINDINGS.get(token.text) is Binding.COMPARISON:
            return "; comparisons do not chain, join them with and"
        return ""

    def _is(self, *words: str) -> bool:
        return self._token.kind is Kind.WORD and self._token.text in words

    def _take(self) -> Token:
        token = self._token
        self._next += 1
        return token

    def _skip(self, word: str) -> bool:
        """Whether the word stands here; then what follows is next."""
        found = self._is(word)
        self._next += found
        return found

    def _expect(self, word: str) -> None:
        if not self._skip(word):
            raise _found(self._token, f"expected {word!r}")

    def _count(self, at: int) -> None:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise ExpressionError(at, f"more than {MOST_NODES} parts")

    def _deeper(self, at: int) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ExpressionError(at, f"nested deeper than {DEEPEST} levels")

    def _expression(self, least: Binding) -> Expression:
        """As much as holds together at least so tightly."""
        depth, at, most = self._depth, self._token.at, Binding.ATOM
        self._deeper(at)
        if least <= Binding.NOT and self._is("not"):
            left, most = self._not(), Binding.AND
        else:
            left = self._operand()
        while self._token.kind is Kind.WORD:
            binding = _BINDINGS.get(self._token.text)
            if binding is None or not least <= binding <= most:
                break
            self._deeper(self._token.at)
            self._count(self._token.at)
            if binding is Binding.COMPARISON:
                left, most = self._comparison(left, at), Binding.AND
            elif binding >= Binding.SUM:
                left = self._arithmetic(binding, left, at)
            else:
                left = self._junction(binding, left, at)
        self._depth = depth
        return left

    def _not(self) -> Expression:
        self._count(self._take().at)
        at = self._token.at
        return tree.Not(_require(self._expression(Binding.NOT), Type.BOOLEAN, at, "after 'not'"))

    def _junction(self, binding: Binding, left: Expression, at: int) -> Expression:
        word = self._token.text
        operands = [_require(left, Type.BOOLEAN, at, f"before {word!r}")]
        while self._skip(word):
            at = self._token.at
            operand = self._expression(Binding(binding + 1))
            operands.append(_require(operand, Type.BOOLEAN, at, f"after {word!r}"))
        return (tree.And if binding is Binding.AND else tree.Or)(tuple(operands))

    def _arithmetic(self, binding: Binding, left: Expression, at: int) -> Expression:
        operator = cast(tree.Operator, self._take().text)
        _require(left, Type.NUMBER, at, f"before {operator!r}")
        at = self._token.at
        right = self._expression(Binding(binding + 1))
        _require(right, Type.NUMBER, at, f"after {operator!r}")
        return tree.Arithmetic(operator, left, right)

    def _comparison(self, left: Expression, at: int) -> Expression:
        token = self._take()
        if token.text == "is":
            negated = self._skip("not")
            self._expect("null")
            return _perhaps_not(tree.IsNull(left), negated)
        if token.text in ("in", "not"):
            if token.text == "not":
                self._expect("in")
            self._expect("(")
            items = self._list()
            for item in items:
                _require_comparable("==", left, item, token.at)
            return _perhaps_not(tree.In(left, items), token.text == "not")
        comparator = cast(tree.Comparator, token.text)
        right = self._expression(Binding.SUM)
        _require_comparable(comparator, left, right, token.at)
        return tree.Comparison(comparator, left, right)

    def _operand(self) -> Expression:
        token = self._take()
        self._count(token.at)
        if token.kind is Kind.NUMBER:
            return _number(token)
        if token.kind is Kind.TEXT:
            return tree.Text(token.text)
        if token.kind is Kind.QUOTED_NAME:
            return tree.Path(token.text)
        if token.kind is Kind.NAME:
            return self._call(token) if self._is("(") else tree.Path(token.text)
        match token.text:
            case "null":
                return tree.Null()
            case "true" | "false":
                return tree.Boolean(token.text == "true")
            case "-":
                operand = self._expression(Binding.NEGATIVE)
                return tree.Negative(_require(operand, Type.NUMBER, token.at, "after '-'"))
            case "(":
                inner = self._expression(Binding.OR)
                self._expect(")")
                return inner
        raise _found(token, _A_VALUE)

    def _call(self, name: Token) -> Expression:
        try:
            function = Function(name.text)
        except ValueError:
            meant = nearest(name.text, list(Function))
            every = f"There are {', '.join(Function)}"
            raise _found(name, f"expected a function. {meant}{every}") from None
        self._expect("(")
        starts: list[int] = []
        arguments = () if self._skip(")") else self._list(starts)
        _check_arguments(name, SIGNATURES[function], arguments, starts)
        return tree.Call(function, arguments)

    def _list(self, starts: list[int] | None = None) -> tuple[Expression, ...]:
        """What stands up to the closing bracket, divided by commas; `starts` gets the places."""
        items: list[Expression] = []
        while True:
            if starts is not None:
                starts.append(self._token.at)
            items.append(self._expression(Binding.OR))
            if self._skip(")"):
                return tuple(items)
            if not self._skip(","):
                raise _found(self._token, "expected ',' or ')'")


def _check_arguments(
    name: Token, signature: Signature, arguments: tuple[Expression, ...], starts: list[int]
) -> None:
    if not signature.least <= len(arguments) <= signature.most:
        expected = str(signature.least)
        if signature.most > signature.least:
            expected = f"{signature.least} to {signature.most}"
        problem = f"{name.text} has {len(arguments)} arguments, expected {expected}"
        raise ExpressionError(name.at, problem)
    for number, (argument, at) in enumerate(zip(arguments, starts, strict=True)):
        _require(argument, signature.argument(number), at, f"in {name.text}")
    if name.text == Function.SUBSTRING:
        for argument, at in zip(arguments[1:], starts[1:], strict=True):
            if not isinstance(argument, tree.Number) or not isinstance(argument.value, int):
                raise ExpressionError(at, f"found {argument}, expected a whole number, written out")
    if signature.result is Type.UNKNOWN:
        free = [a for i, a in enumerate(arguments) if signature.argument(i) is Type.UNKNOWN]
        if agreed(map(type_of, free)) is None:
            found = ", ".join(type_of(a) for a in free)
            raise ExpressionError(name.at, f"{name.text} of {found}: expected one type")


def _require(node: Expression, expected: Type, at: int, where: str) -> Expression:
    found = type_of(node)
    if Type.UNKNOWN not in (found, expected) and found is not expected:
        raise ExpressionError(at, f"found {found} {where}, expected {expected}")
    return node


def _require_comparable(comparator: str, left: Expression, right: Expression, at: int) -> None:
    """Equal may be whatever has equal texts; only numbers and texts have an order."""
    types = {type_of(left), type_of(right)} - {Type.UNKNOWN}
    unlike = {Type.NUMBER, Type.BOOLEAN} if comparator in ("==", "!=") else {Type.NUMBER, Type.TEXT}
    ordered = comparator in ("==", "!=") or Type.BOOLEAN not in types
    if types == unlike or not ordered:
        found = " and ".join(sorted(types))
        expected = "two numbers or two texts" if comparator not in ("==", "!=") else "one type"
        raise ExpressionError(at, f"{comparator!r} compares {found}, expected {expected}")


def _perhaps_not(node: Expression, negated: bool) -> Expression:
    return tree.Not(node) if negated else node


def _number(token: Token) -> tree.Number:
    if token.text.isdigit() and int(token.text) <= _LARGEST_WHOLE:
        return tree.Number(int(token.text))
    number = float(token.text)
    if number == float("inf"):
        raise _found(token, "expected a number within float64")
    whole = number.is_integer() and number <= _LARGEST_WHOLE
    return tree.Number(int(number) if whole else number)


def _found(token: Token, expected: str) -> ExpressionError:
    return ExpressionError(token.at, f"found {token}, {expected}")
