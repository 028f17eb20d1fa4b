"""The catalogue of kinds, for help texts, hints and forms, without importing the algorithms.

Read from `kinds.json`, which `python -m docs.generate.kinds_file` writes from the declarations. An
engine tells the same of the kinds of its plug-ins.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import msgspec
from msgspec import UNSET, Struct


class ParameterInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A parameter of a kind, or an argument of a question; without a default it is required."""

    name: str
    type: str
    doc: str
    expected: str
    default: Any = UNSET
    unit: str = ""
    choices: tuple[str, ...] = ()


class QuestionInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What may be asked; `example` has arguments that fit, `columns` names the places of rows."""

    name: str
    doc: str
    arguments: tuple[ParameterInfo, ...]
    others: str = ""  # "one" or "many" further synopses
    across: bool = False  # about all streams together
    columns: tuple[str, ...] = ()
    example: dict[str, Any] = {}


class SizeInfo(Struct, frozen=True, kw_only=True):
    """A value of the parameter that decides a kind's error, and the bytes that it takes."""

    error: float
    value: int | float
    memory: int


class SizesInfo(Struct, frozen=True, kw_only=True):
    """Which error a kind has: by default, and with other values of one parameter."""

    meaning: str
    parameter: str
    default_error: float
    default_memory: int
    choices: tuple[SizeInfo, ...]  # the largest error first

    def for_error(self, error: float) -> SizeInfo | None:
        """The smallest choice with at most this error; None if there is none."""
        return next((choice for choice in self.choices if choice.error <= error), None)


class KindInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a kind declares about itself."""

    kind: str
    doc: str
    purpose: str = ""  # the question a user has, which other kinds may answer too
    guarantee: str
    mergeable: bool
    linear: bool
    order_free: bool
    idempotent: bool
    reads: tuple[str, ...]
    value_fields: int | str  # how many, or the parameter that tells
    value_names: tuple[str, ...] = ()
    parameters: tuple[ParameterInfo, ...]
    questions: tuple[QuestionInfo, ...]
    sizes: SizesInfo | None = None

    @property
    def parameter_names(self) -> list[str]:
        return [parameter.name for parameter in self.parameters]

    @property
    def question_names(self) -> list[str]:
        return [question.name for question in self.questions]

    @property
    def needs_key(self) -> bool:
        return bool({"keys", "texts"} & {*self.reads})

    @property
    def values_needed(self) -> int | str:
        """How many value fields a create names: a number, or the parameter that tells."""
        return self.value_fields if "values" in self.reads else 0

    @property
    def value_is_optional(self) -> bool:
        """Without a value field each tuple counts 1."""
        needed = self.values_needed
        if isinstance(needed, str):
            needed = next(p.default for p in self.parameters if p.name == needed)
        return self.needs_key and needed == 1

    @property
    def scopes(self) -> tuple[str, ...]:
        return ("dataset", "stream") if self.mergeable else ("stream",)

    def question(self, name: str | None) -> QuestionInfo | None:
        """The question of a name; without one, the first."""
        if name is None:
            return self.questions[0]
        return next((each for each in self.questions if each.name == name), None)


@functools.cache
def kinds() -> dict[str, KindInfo]:
    """The kinds of the library by their names, in the order of these.

    >>> kinds()["count_min"].parameter_names[:2]
    ['epsilon', 'delta']
    """
    text = resources.files("sde.wire").joinpath("kinds.json").read_bytes()
    declared = msgspec.json.decode(text, type=list[KindInfo])
    return {each.kind: each for each in sorted(declared, key=lambda kind: kind.kind)}


def columns_of(question: str | None) -> tuple[str, ...]:
    """The names that the rows of a question's value have, whichever kind is asked.

    >>> columns_of("pairs")[:3]
    ('a', 'b', 'correlation')
    """
    named = (kind.question(question) for kind in kinds().values()) if question else ()
    return next((each.columns for each in named if each and each.columns), ())


def kind_info(declared: dict[str, Any]) -> KindInfo:
    """What an engine tells of a kind; ValueError if it tells something else."""
    return msgspec.convert(declared, KindInfo)
