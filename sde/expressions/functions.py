"""The functions of the language, declared once: the parser, the types and the pages read this."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Type(StrEnum):
    """What is known of a value before there is one. Of a field nothing is."""

    NUMBER = "a number"
    TEXT = "a text"
    BOOLEAN = "true or false"
    UNKNOWN = "any value"


class Function(StrEnum):
    ABS = "abs"
    FLOOR = "floor"
    ROUND = "round"
    SQRT = "sqrt"
    LOG = "log"
    LOWER = "lower"
    UPPER = "upper"
    LENGTH = "length"
    SUBSTRING = "substring"
    CONCAT = "concat"
    COALESCE = "coalesce"
    IF = "if"


@dataclass(frozen=True, slots=True)
class Signature:
    """The last of `arguments` may be repeated up to `most` arguments.

    A result of type UNKNOWN has the type of the arguments that may have any: they must agree.
    """

    arguments: tuple[Type, ...]
    result: Type
    least: int
    most: int
    help: str

    def argument(self, number: int) -> Type:
        return self.arguments[min(number, len(self.arguments) - 1)]


_NUMBER, _TEXT, _BOOLEAN, _ANY = Type.NUMBER, Type.TEXT, Type.BOOLEAN, Type.UNKNOWN
_MANY = 64

SIGNATURES: dict[Function, Signature] = {
    Function.ABS: Signature((_NUMBER,), _NUMBER, 1, 1, "the number without its sign"),
    Function.FLOOR: Signature((_NUMBER,), _NUMBER, 1, 1, "the next whole number below"),
    Function.ROUND: Signature(
        (_NUMBER,), _NUMBER, 1, 1, "the nearest whole number; halves away from zero"
    ),
    Function.SQRT: Signature((_NUMBER,), _NUMBER, 1, 1, "the square root"),
    Function.LOG: Signature((_NUMBER,), _NUMBER, 1, 1, "the natural logarithm"),
    Function.LOWER: Signature((_TEXT,), _TEXT, 1, 1, "the text in lower case"),
    Function.UPPER: Signature((_TEXT,), _TEXT, 1, 1, "the text in upper case"),
    Function.LENGTH: Signature((_TEXT,), _NUMBER, 1, 1, "how many characters the text has"),
    Function.SUBSTRING: Signature(
        (_TEXT, _NUMBER, _NUMBER), _TEXT, 2, 3,
        "the characters from a place on (0: the first), at most so many; numbers written out",
    ),
    Function.CONCAT: Signature(
        (_ANY,), _TEXT, 2, _MANY, "the texts of all values, one behind the other"
    ),
    Function.COALESCE: Signature((_ANY,), _ANY, 2, _MANY, "the first value that is not missing"),
    Function.IF: Signature(
        (_BOOLEAN, _ANY, _ANY), _ANY, 3, 3, "the second where the first is true, else the third"
    ),
}  # fmt: skip
