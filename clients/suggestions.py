"""What was probably meant: the catalogue's names that are near to a misspelt one.

The engine decides what it takes: plug-ins bring kinds, and it may be newer than this client. So a
request is refused here only when a name is none of its kind's and near to one that is; otherwise
the hint goes with the engine's fault.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import structs

from clients.errors import BadInput, Refused
from sde import wire
from sde.wire import Code, catalogue
from sde.wire.catalogue import QuestionInfo
from sde.wire.nearest import nearest
from sde.wire.plugins import NAME_FORM
from sde.wire.windows import WINDOW_TYPES, WindowMessage

_CERTAIN = 0.75  # so alike are a name and its misspelling, letter by letter
_KIND_FORM = re.compile(rf"{NAME_FORM.pattern}(@\d+)?")
_OF_CREATE = {field.encode_name for field in structs.fields(wire.Create)} - {"id", "params"}
_OF_WINDOW = [field.name for field in structs.fields(WindowMessage)]
OF_ESTIMATE = {"query", "stream", "end", "span", "sites", "deadline"}
OF_WATCH = OF_ESTIMATE | {"every", "on", "threshold", "when", "each", "drift", "timeout"}


# -- before anything is sent ----------------------------------------------------------------------


def check_create(kind: str, params: Mapping[str, Any]) -> None:
    """BadInput for a kind that cannot be, or a parameter that is certainly misspelt."""
    known = catalogue.kinds()
    if kind not in known and not _KIND_FORM.fullmatch(kind):
        raise BadInput(
            f"kind={kind!r}: expected the name of a kind, as `sde kinds` lists them."
            f" {nearest(kind, known)}".rstrip()
        )
    if kind not in known:
        return
    declared = known[kind].parameter_names
    if "window" in params and "window" not in declared:
        raise BadInput(
            f"window={params['window']!r}: {kind} has no parameter of this name; a window of so"
            f' many tuples is window={{"size": {params["window"]}}}'
        )
    _check_names(params, declared, _OF_CREATE, f"a parameter of {kind} or a keyword of create")


def check_window(window: Mapping[str, Any]) -> None:
    """BadInput for a field of a window, or its type, that is certainly misspelt."""
    _check_names(window, _OF_WINDOW, (), "a field of a window")
    named = window.get("type")
    if isinstance(named, str) and (hint := nearest(named, WINDOW_TYPES, _CERTAIN)):
        one_of = ", ".join(WINDOW_TYPES)
        raise BadInput(f"window type={named!r}: expected one of {one_of}. {hint}".rstrip())


def check_question(
    kind: str, question: str | None, arguments: Mapping[str, Any], of_watch: bool
) -> None:
    """BadInput for a question of a known kind, or an argument, that is certainly misspelt.

    `kind` is "" for one that is not known here. Then only keywords can be, and `query` takes an
    argument that is like one.
    """
    keywords, method = (OF_WATCH, "watch") if of_watch else (OF_ESTIMATE, "estimate")
    known = catalogue.kinds().get(kind)
    if known is None:
        if not kind:
            others = arguments.keys() - _arguments_of(question)
            expected = f"an argument of a question, then in query=, or a keyword of {method}"
            _check_names(sorted(others), (), keywords, expected)
        return
    asked = known.question(question)
    if asked is not None:
        declared = [each.name for each in asked.arguments]
        expected = f"an argument of {asked.name} or a keyword of {method}"
        _check_names(arguments, declared, keywords, expected)
    elif question is not None and (hint := nearest(question, known.question_names, _CERTAIN)):
        one_of = ", ".join(known.question_names)
        raise BadInput(f"question={question!r}: expected one of {one_of}. {hint}".rstrip())


def _check_names(
    named: Iterable[str], declared: Collection[str], keywords: Collection[str], expected: str
) -> None:
    for name in named:
        if name not in declared and (hint := nearest(name, [*declared, *keywords], _CERTAIN)):
            one_of = f" ({', '.join(declared)})" if declared else ""
            raise BadInput(f"{name}: expected {expected}{one_of}. {hint}".rstrip())


# -- added to what the engine says ----------------------------------------------------------------


def with_hint(error: Refused, request: Mapping[str, Any]) -> Refused:
    """The error, with what was probably meant if that can be guessed."""
    error.hint = _hint(error, request).rstrip()
    return error


def _hint(error: Refused, request: Mapping[str, Any]) -> str:
    place, _, name = error.field.rpartition(".")
    known = catalogue.kinds()
    if error.code == Code.UNKNOWN_KIND:
        return nearest(str(request.get("kind")), known)
    if error.code == Code.BAD_PARAMETER:
        kind = known.get(str(request.get("kind")))
        return nearest(name, [*kind.parameter_names, *_OF_CREATE]) if kind else ""
    if error.code == Code.BAD_QUERY and place == "query":
        return _question_hint(name, request.get("query", {}), error.message)
    if error.code == Code.BAD_REQUEST and place == "window":
        return nearest(name, _OF_WINDOW)
    if error.code == Code.BAD_REQUEST and error.field in OF_WATCH - {"query"}:
        near = [name for name in request.get("query", {}) if nearest(name, [error.field])]
        return f"{near[0]}: did you mean {error.field}?" if near else ""
    if error.code == Code.UNKNOWN_OP:
        return nearest(str(request.get("op")), wire.OPS)
    return ""


def _question_hint(name: str, query: Mapping[str, Any], message: str) -> str:
    """Which kind was asked is not known here: the fault names its questions."""
    asked = query.get("type")
    if name == "type":
        return nearest(str(asked), message.partition("expected one of ")[2].split(", "))
    return nearest(name, _arguments_of(asked) | OF_WATCH)


def _questions() -> list[QuestionInfo]:
    return [each for kind in catalogue.kinds().values() for each in kind.questions]


def _arguments_of(question: str | None) -> set[str]:
    """The arguments of a question of whatever kind; without its name, those of all questions."""
    return {
        argument.name
        for each in _questions()
        if question in (None, each.name)
        for argument in each.arguments
    }
