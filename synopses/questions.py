"""Questions: methods of a synopsis that answer something, found by name.

class CountMin(Synopsis):
    @question
    def frequency(self, key: str) -> Estimate:
        '''Total weight of one key.'''

`estimate({"type": "frequency", "key": "AAPL"})` calls it; the first question of a class is the
one meant when "type" is left out. An argument annotated `Self` takes another synopsis of the
same kind; `*others: Self` takes any number. An argument annotated `list[...]` takes a list, whose
entries the question checks itself; numbers may be written as a text, "1, 2.5". A question marked
`across=True` is asked of many streams at once: it is a class method whose first argument is a
`Streams`. Where the value is a list of rows without names, `columns=("a", "b")` names their places.

No argument may make an answer cost more than its question is worth: `@question(most={"k": 1000})`
states the largest k, the most entries of a list, or the most characters of a text. A whole number
needs it (there is a law); lists and texts have 10,000 where none is stated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from synopses.errors import ParameterError, QueryError
from synopses.parameters import REQUIRED, Parameter, declared_type

MOST_ENTRIES = 10_000  # of a list, characters of a text, where a question states no other limit


@dataclass(frozen=True, slots=True)
class Estimate:
    """An answer with the interval that holds with the stated confidence (1.0: always)."""

    value: Any
    lower: Any = None
    upper: Any = None
    confidence: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The fields by name. Nothing is copied: a value may be a list of many thousand pairs."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Question:
    """What may be asked: derived from the signature of the method that answers."""

    name: str
    doc: str
    arguments: tuple[Parameter, ...]
    others: str = ""  # "", "one" or "many" further synopses
    across: bool = False
    columns: tuple[str, ...] = ()  # names of the places of a row, where the value is rows

    def declaration(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "doc": self.doc,
            "arguments": [a.declaration() for a in self.arguments],
            **({"others": self.others} if self.others else {}),
            **({"across": True} if self.across else {}),
            **({"columns": list(self.columns)} if self.columns else {}),
        }

    def bind(self, query: Mapping[str, Any]) -> dict[str, Any]:
        """The method's keyword arguments out of a query, or QueryError."""
        known = {a.name: a for a in self.arguments}
        for name in query:
            if name not in known and name != "type":
                raise QueryError(
                    f"query.{name}", query[name], f"only {', '.join(known) or 'no fields'}"
                )
        bound = {}
        for name, argument in known.items():
            value = query.get(name, argument.default)
            if value is REQUIRED:
                raise QueryError(f"query.{name}", None, argument.expected)
            if argument.type is list and isinstance(value, str):
                value = _numbers(value)
            try:
                bound[name] = value if name == "key" else argument.check(value)
            except ParameterError as error:
                raise QueryError(f"query.{name}", value, error.expected) from None
        return bound


def question(
    method: Callable[..., Any] | None = None,
    *,
    across: bool = False,
    most: Mapping[str, int] | None = None,
    columns: tuple[str, ...] = (),
) -> Callable[..., Any]:
    """Mark a method as a question; `most` limits its arguments by name."""

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        described = _describe(method, across, most or {}, columns)
        method.__question__ = described  # type: ignore[attr-defined]
        return method

    return mark if method is None else mark(method)


def _describe(
    method: Callable[..., Any], across: bool, most: Mapping[str, int], columns: tuple[str, ...]
) -> Question:
    arguments, others = [], ""
    for name, formal in list(inspect.signature(method).parameters.items())[1 + across :]:
        if formal.annotation in ("Self", Self):
            others = "many" if formal.kind is formal.VAR_POSITIONAL else "one"
            continue
        default = REQUIRED if formal.default is formal.empty else formal.default
        whose = f"question {method.__name__}: argument {name}"
        kind = declared_type(whose, formal.annotation)
        limit = most.get(name, MOST_ENTRIES if kind in (list, str) and name != "key" else None)
        arguments.append(Parameter(name, kind, default, "", most=limit))
    doc = (inspect.getdoc(method) or "").split("\n\n")[0].replace("\n", " ")
    return Question(method.__name__, doc, tuple(arguments), others, across, columns)


def _numbers(text: str) -> list[float] | str:
    """The numbers of "1, 2.5"; the text as it is, if there is anything else."""
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        return text


def questions_of(cls: type) -> dict[str, Question]:
    """All questions of a class in the order of their definition, base classes last."""
    found: dict[str, Question] = {}
    for base in cls.__mro__:
        for name, member in vars(base).items():
            marked = getattr(getattr(member, "__func__", member), "__question__", None)
            if marked is not None:
                found.setdefault(name, marked)
    return found
