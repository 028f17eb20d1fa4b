"""Parameters, declared once: validation, documentation and help come from the declaration.

class CountMin(Synopsis):
    epsilon: float = parameter(0.01, above=0, below=1, doc="error as a share of the total weight")
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from synopses.errors import ParameterError

_TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "list": list}


_COUNTED: dict[type, str] = {str: "characters", list: "entries"}

_MOST_WITH_DIGITS = 1e21  # larger limits are written as powers of ten


def type_of(annotation: Any) -> type:
    """The type an annotation names; it is its text where annotations are not evaluated."""
    return _TYPES[getattr(annotation, "__name__", annotation).partition("[")[0]]


def declared_type(whose: str, annotation: Any) -> type:
    """`type_of` what a class declares; TypeError that says whose type is missing or none of these.

    >>> declared_type("question above: argument limit", None)
    Traceback (most recent call last):
    TypeError: question above: argument limit: expected a type of int, float, str, bool, list
    """
    try:
        return type_of(annotation)
    except (KeyError, AttributeError):
        raise TypeError(f"{whose}: expected a type of {', '.join(_TYPES)}") from None


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED: Any = _Required()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One declared parameter: its type, its default, the values it may take, and what it means.

    Of a text `most` limits the characters, of a list the entries. One that was `added` after
    states were kept is part of them only if it has another value than its default.
    """

    name: str
    type: type
    default: Any
    doc: str
    above: float | None = None
    below: float | None = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    added: bool = False

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        words = {
            int: "a whole number",
            float: "a number",
            str: "a text",
            bool: "true or false",
            list: "a list",
        }
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.type in _COUNTED and self.most is not None:
            return f"{words[self.type]} of at most {_written(self.most)} {_COUNTED[self.type]}"
        limits = [
            f"{word} {_written(limit)}"
            for word, limit in (
                ("above", self.above),
                ("below", self.below),
                ("at least", self.least),
                ("at most", self.most),
            )
            if limit is not None
        ]
        return " ".join(filter(None, [words[self.type], " and ".join(limits)]))

    def check(self, value: Any) -> Any:
        """`value` in this parameter's type, or ParameterError."""
        if self.type is bool and isinstance(value, bool):
            return value
        if isinstance(value, str | list) and isinstance(value, self.type):
            fits = self.most is None or len(value) <= self.most
            if fits and (not self.choices or value in self.choices):
                return value
        elif (
            self.type in (int, float)
            and isinstance(value, int | float)
            and not isinstance(value, bool)
            and self._allows(value)
        ):
            return self.type(value)
        raise ParameterError(self.name, value, self.expected)

    def _allows(self, value: float) -> bool:
        # Python's ints have no end, a float has: beyond 64 bits none is meant seriously.
        if not math.isfinite(value) if isinstance(value, float) else abs(value) >= 2**64:
            return False
        if self.type is int and value != int(value):
            return False
        return (
            (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
        )

    def declaration(self) -> dict[str, Any]:
        """The declaration as JSON, for catalogues, help texts and forms."""
        required = self.default is REQUIRED
        return {
            "name": self.name,
            "type": self.type.__name__,
            "doc": self.doc,
            "expected": self.expected,
            **({} if required else {"default": self.default}),
            **({"unit": self.unit} if self.unit else {}),
            **({"choices": list(self.choices)} if self.choices else {}),
        }


def _written(limit: float) -> str:
    """A number as people write it.

    >>> _written(2**32), _written(0.5), _written(1e-9), _written(86_400.0), _written(1e300)
    ('4,294,967,296', '0.5', '1e-09', '86,400', '1e300')
    """
    if limit == int(limit) and abs(limit) < _MOST_WITH_DIGITS:
        return f"{limit:,.0f}"
    return f"{limit:g}".replace("e+", "e")


def parameter(
    default: Any = REQUIRED,
    *,
    doc: str,
    above: float | None = None,
    below: float | None = None,
    least: float | None = None,
    most: float | None = None,
    choices: tuple[str, ...] = (),
    unit: str = "",
    added: bool = False,
) -> Any:
    """Declare a parameter in the body of a `Synopsis` class; name and type come from there."""
    return Parameter("", object, default, doc, above, below, least, most, choices, unit, added)
