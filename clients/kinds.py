"""Kinds as a user reads of them: what they answer, what they need, and an example that runs."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from clients.kind_examples import plainly, python_example, shell_example
from clients.wording import size
from sde.wire import catalogue
from sde.wire.catalogue import KindInfo, ParameterInfo, QuestionInfo, SizesInfo

_WIDTH = 88


class Kind(KindInfo, frozen=True, kw_only=True):
    """What a kind declares about itself; `print` it to read of fields, parameters, questions."""

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def __repr__(self) -> str:
        return f"<kind {self.kind}: {self.doc}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def as_row(self) -> dict[str, Any]:
        """What a table of kinds shows."""
        return {
            "kind": self.kind,
            "question": self.purpose,
            "what it answers": self.doc,
            "fields": fields_text(self),
            "questions": ", ".join(self.question_names),
            "parameters": ", ".join(self.parameter_names),
            "guarantee": self.guarantee,
        }


def library_kinds() -> dict[str, Kind]:
    """The kinds that every engine has, by their names."""
    return {name: _kind(info) for name, info in catalogue.kinds().items()}


def plugin_kind(declared: Mapping[str, Any]) -> Kind:
    """The kind that an engine tells of."""
    return _kind(catalogue.kind_info(dict(declared)))


def _kind(info: KindInfo) -> Kind:
    return msgspec.convert(info, Kind, from_attributes=True)


# -- what a create needs --------------------------------------------------------------------------


def fields_text(kind: KindInfo) -> str:
    """Which fields of a tuple a create names, in a few words.

    >>> fields_text(catalogue.kinds()["trajectory"])
    'value=[latitude, longitude, course, speed], the time'
    >>> fields_text(catalogue.kinds()["count_min"])
    'key, perhaps value'
    """
    words = ["key"] if kind.needs_key else []
    if kind.value_is_optional:
        words.append("perhaps value")
    elif kind.values_needed == 1:
        words.append("value")
    elif isinstance(kind.values_needed, str):
        words.append(f"value=[FIELD, ...], as many as {kind.values_needed}")
    elif kind.values_needed:
        names = kind.value_names or ["FIELD"] * kind.values_needed
        words.append(f"value=[{', '.join(names)}]")
    if "times" in kind.reads:
        words.append("the time")
    return ", ".join(words)


def fields_of_kinds() -> str:
    """The fields of every kind of the library, for the help of `create`."""
    lines = [f"            {name}: {fields_text(info)}" for name, info in catalogue.kinds().items()]
    head = "        Which fields each kind needs; `print(kind)` of those in `kinds()` tells more:"
    return "\n".join([head, "", *lines, "        "])


def _field_lines(kind: KindInfo) -> Iterator[str]:
    if kind.needs_key:
        yield "key: the field whose values are the keys; needed"
    if kind.value_is_optional:
        yield "value: a field of numbers; left out, each tuple counts 1"
    elif kind.values_needed == 1:
        yield "value: a field of numbers; needed"
    elif isinstance(kind.values_needed, str):
        yield f"value: as many fields of numbers as the parameter {kind.values_needed} says"
    elif kind.values_needed:
        names = f", in this order: {', '.join(kind.value_names)}" if kind.value_names else ""
        yield f"value: {kind.values_needed} fields of numbers{names}"
    if "times" in kind.reads:
        yield "time: the field that tells when; left out, the tuple's own time"


def _windows(kind: KindInfo) -> str:
    if kind.mergeable:
        return 'by time (window="5m"), sliding, session; by count at scope stream'
    if {"interval", "window"} <= set(kind.parameter_names):
        return "one of its own, by its parameters; or by count: so many intervals"
    return "none: it keeps what its parameters say"


# -- the whole text -------------------------------------------------------------------------------


def _lines(kind: Kind) -> Iterator[str]:
    yield from _wrapped(f"{kind.kind}: {kind.doc}", 0)
    if kind.guarantee:
        yield from _wrapped(f"Guarantee: {kind.guarantee}", 0)
    traits = [t for t in ("mergeable", "linear", "order_free", "idempotent") if getattr(kind, t)]
    yield f"Traits: {', '.join(traits) or 'none'}"
    yield ""
    yield "Fields"
    for line in _field_lines(kind):
        yield from _wrapped(line)
    yield "Scopes: " + ", ".join([*kind.scopes, '{"stream": NAME}'])
    yield f"Windows: {_windows(kind)}"
    yield ""
    yield "Parameters" if kind.parameters else "Parameters: none"
    for parameter in kind.parameters:
        yield from _wrapped(f"{_with_default(parameter)}: {parameter.doc}; {_expected(parameter)}")
    if kind.sizes is not None:
        yield ""
        yield from _wrapped(f"Error {kind.sizes.meaning}", 0)
        yield from _size_lines(kind.sizes)
    yield ""
    yield "Questions; the first is asked if none is named"
    for question in kind.questions:
        yield from _wrapped(f"{_signature(question)}: {question.doc}")
    yield ""
    yield "In Python"
    yield from (f"  {line}" for line in python_example(kind))
    yield "In the shell"
    yield from (f"  {line}" for line in shell_example(kind))


def _size_lines(sizes: SizesInfo) -> Iterator[str]:
    rows = [
        (f"{choice.error:g}", f"{sizes.parameter}={plainly(choice.value)}", size(choice.memory))
        for choice in sizes.choices
    ]
    default = (f"{sizes.default_error:g}", "default", size(sizes.default_memory))
    for error, value, memory in [default, *rows]:
        yield f"  {error:<8} {value:<24} {memory}"


def _wrapped(line: str, indent: int = 2) -> list[str]:
    return textwrap.wrap(
        line,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 4),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _with_default(parameter: ParameterInfo) -> str:
    required = parameter.default is msgspec.UNSET
    return parameter.name if required else f"{parameter.name}={plainly(parameter.default)}"


def _expected(parameter: ParameterInfo) -> str:
    return parameter.expected + (f", in {parameter.unit}" if parameter.unit else "")


def _signature(question: QuestionInfo) -> str:
    others = {"": [], "one": ["another synopsis"], "many": ["other synopses"]}[question.others]
    arguments = [_with_default(argument) for argument in question.arguments]
    across = " of all streams" if question.across else ""
    return f"{question.name}({', '.join([*others, *arguments])}){across}"
