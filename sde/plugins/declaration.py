"""What a plug-in's class declares, as a record: all that the engine knows of that class.

The plug-in's process makes the record from the class (`Declaration.of`), examination sends it to
all shards, and every worker makes a class that declares the same (`Declaration.declare_on`). Its
JSON is durable: it rests in the facts of the registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

import msgspec
from msgspec import UNSET

from synopses import BankedSynopsis, Synopsis
from synopses.parameters import REQUIRED, Parameter, type_of
from synopses.questions import Question


class DeclaredParameter(msgspec.Struct, frozen=True, kw_only=True):
    """A `synopses.parameters.Parameter` whose type is a name; no default: it is required."""

    name: str
    type: str
    default: Any = UNSET
    doc: str
    above: int | float | None
    below: int | float | None
    least: int | float | None
    most: int | float | None
    choices: tuple[str, ...]
    unit: str
    added: bool = False

    @classmethod
    def of(cls, parameter: Parameter) -> Self:
        values = {field.name: getattr(parameter, field.name) for field in fields(Parameter)}
        values["type"] = parameter.type.__name__
        if parameter.default is REQUIRED:
            del values["default"]
        return cls(**values)

    def parameter(self) -> Parameter:
        """KeyError if the type is none that parameters have."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        values["type"] = type_of(self.type)
        values["default"] = REQUIRED if self.default is UNSET else self.default
        return Parameter(**values)


class DeclaredQuestion(msgspec.Struct, frozen=True):
    """A `synopses.questions.Question`."""

    name: str
    doc: str
    others: str
    across: bool
    arguments: tuple[DeclaredParameter, ...]

    @classmethod
    def of(cls, question: Question) -> Self:
        arguments = tuple(map(DeclaredParameter.of, question.arguments))
        return cls(question.name, question.doc, question.others, question.across, arguments)

    def question(self) -> Question:
        arguments = tuple(argument.parameter() for argument in self.arguments)
        return Question(self.name, self.doc, arguments, self.others, self.across)


class Declaration(msgspec.Struct, frozen=True):
    """The attributes of a synopsis class that are not code.

    >>> from synopses import CountMin
    >>> declaration = Declaration.of(CountMin)
    >>> declaration.banked, [parameter.name for parameter in declaration.parameters]
    (True, ['epsilon', 'delta', 'decimals', 'seed'])
    >>> Declaration.from_json(declaration.as_json()) == declaration
    True
    """

    format: int
    mergeable: bool
    linear: bool
    order_free: bool
    idempotent: bool
    guarantee: str
    doc: str
    banked: bool
    reads: tuple[str, ...]
    value_fields: int | str
    across_arrays: tuple[str, ...]
    parameters: tuple[DeclaredParameter, ...]
    questions: tuple[DeclaredQuestion, ...]
    migrates: bool = False  # it has code for states of the version before

    @classmethod
    def of(cls, kind: type[Synopsis]) -> Self:
        """Runs in the plug-in's process, where the class is."""
        return cls(
            format=kind.format,
            mergeable=bool(kind.mergeable),
            linear=bool(kind.linear),
            order_free=bool(kind.order_free),
            idempotent=bool(kind.idempotent),
            guarantee=kind.guarantee,
            doc=(kind.__doc__ or "").strip(),
            banked=issubclass(kind, BankedSynopsis),
            reads=tuple(sorted(kind.reads)),
            value_fields=kind.value_fields,
            across_arrays=tuple(kind.across_arrays),
            parameters=tuple(map(DeclaredParameter.of, kind.parameters.values())),
            questions=tuple(map(DeclaredQuestion.of, kind.questions.values())),
            migrates=hasattr(kind, "migrate"),
        )

    @classmethod
    def from_json(cls, declared: Mapping[str, Any]) -> Self:
        """ValueError if it is no declaration: anybody can write to the topic it came through.

        Not strict: earlier versions took a class at its word, such as 1 for true.
        """
        return msgspec.convert(declared, cls, strict=False)

    def as_json(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)  # type: ignore[no-any-return]

    def declare_on(self, kind: type[Synopsis]) -> None:
        """Set the class attributes; KeyError for a parameter of an unknown type."""
        parameters = [declared.parameter() for declared in self.parameters]
        kind.format = self.format
        kind.mergeable = self.mergeable
        kind.linear = self.linear
        kind.order_free = self.order_free
        kind.idempotent = self.idempotent
        kind.guarantee = self.guarantee
        kind.__doc__ = self.doc
        kind.reads = frozenset(self.reads)
        kind.value_fields = self.value_fields
        kind.across_arrays = self.across_arrays
        kind.parameters = {parameter.name: parameter for parameter in parameters}
        kind.questions = {declared.name: declared.question() for declared in self.questions}
