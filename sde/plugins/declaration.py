"""What a class declares, as JSON and back: all that the engine knows of a plug-in's class."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from synopses import BankedSynopsis, Synopsis
from synopses.parameters import REQUIRED, Parameter, type_of
from synopses.questions import Question

_TRAITS = ("format", "mergeable", "linear", "order_free", "idempotent", "guarantee")


def declaration_of(cls: type[Synopsis]) -> dict[str, Any]:
    return {
        **{name: getattr(cls, name) for name in _TRAITS},
        "doc": (cls.__doc__ or "").strip(),
        "banked": issubclass(cls, BankedSynopsis),
        "reads": sorted(cls.reads),
        "value_fields": cls.value_fields,
        "across_arrays": list(cls.across_arrays),
        "parameters": [_from_parameter(p) for p in cls.parameters.values()],
        "questions": [
            {
                "name": q.name,
                "doc": q.doc,
                "others": q.others,
                "across": q.across,
                "arguments": [_from_parameter(a) for a in q.arguments],
            }
            for q in cls.questions.values()
        ],
    }


def attributes_of(declaration: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a class that declares the same."""
    questions = [
        Question(
            q["name"], q["doc"], tuple(map(_to_parameter, q["arguments"])), q["others"], q["across"]
        )
        for q in declaration["questions"]
    ]
    parameters = [_to_parameter(p) for p in declaration["parameters"]]
    return {
        **{name: declaration[name] for name in _TRAITS},
        "reads": frozenset(declaration["reads"]),
        "value_fields": declaration["value_fields"],
        "across_arrays": tuple(declaration["across_arrays"]),
        "parameters": {p.name: p for p in parameters},
        "questions": {q.name: q for q in questions},
    }


def _from_parameter(parameter: Parameter) -> dict[str, Any]:
    held = {f.name: getattr(parameter, f.name) for f in fields(Parameter)}
    held["type"] = parameter.type.__name__
    if parameter.default is REQUIRED:
        del held["default"]
    return held


def _to_parameter(held: dict[str, Any]) -> Parameter:
    given = {"default": REQUIRED, **held, "choices": tuple(held["choices"])}
    return Parameter(**{**given, "type": type_of(held["type"])})
