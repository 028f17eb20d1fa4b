"""docs/reference/kinds.md: every kind as it declares itself, with what was measured of it."""

from __future__ import annotations

import inspect

from clients.kinds import fields_text
from docs.generate import markdown
from docs.generate.markdown import code
from docs.generate.measured import BANK, ONE, in_millions, speeds
from sde.wire.catalogue import kind_info
from synopses import KINDS, Synopsis
from synopses.declaration import declaration
from synopses.parameters import REQUIRED, Parameter
from synopses.questions import Question

_MINOR = {"decimals", "max_key_bytes", "seed"}  # left out of the overview: few will change them
_TRAITS = {
    "mergeable": "merges",
    "linear": "linear",
    "order_free": "any order",
    "idempotent": "idempotent",
}
_OTHERS = {"": "", "one": "a second synopsis (`uids`)", "many": "further synopses (`uids`)"}
_INTRODUCTION = """\
A *kind* is an algorithm. `create` names one and gives its parameters; `estimate` and `watch` ask
its questions. The first question of a kind is asked when a request names none. What the bounds
of an answer mean: see [bounds](../concepts/bounds.md).

Memory is that of one synopsis with default parameters. Speed is in million updates per second on
one core, from columns of text keys: one synopsis alone, and thousands in one
[bank](../design/state.md). The traits say what the engine can do with a kind:

- **merges**: the synopses of two parts merge into the synopsis of the whole. Scope `dataset`,
  windows, imports and several sites need it.
- **linear**: the state is a sum of arrays, so it can be subtracted too: rows that a source says
  were [deleted](../how-to/existing-topics.md#deleted-rows) are taken away.
- **any order**: the state does not depend on the order of the tuples.
- **idempotent**: a tuple that is added twice counts once.

`sde kinds KIND` prints the same for one kind."""


def text() -> str:
    measured = speeds()
    kinds = [cls for _, cls in sorted(KINDS.items())]
    overview = markdown.table(
        ["kind", "answers", "parameters", "memory", "speed: one, in a bank", "traits"],
        [_overview_row(cls, measured) for cls in kinds],
    )
    return markdown.page("Kinds", _INTRODUCTION, overview, *map(_section, kinds))


def _overview_row(cls: type[Synopsis], measured: dict[tuple[str, str], float]) -> list[str]:
    defaults = [_with_default(p) for name, p in cls.parameters.items() if name not in _MINOR]
    return [
        f"[`{cls.kind}`](#{cls.kind})",
        ", ".join(cls.questions),
        ", ".join(defaults),
        f"{cls().memory / 1000:.3g} kB",
        ", ".join(in_millions(measured.get((cls.kind, setting))) for setting in (ONE, BANK)),
        ", ".join(_traits(cls)),
    ]


def _traits(cls: type[Synopsis]) -> list[str]:
    return [word for trait, word in _TRAITS.items() if getattr(cls, trait)]


def _with_default(parameter: Parameter) -> str:
    shown = f"{parameter.name}={_default(parameter)}"
    return f"{shown} {parameter.unit}" if parameter.unit else shown


def _default(parameter: Parameter) -> str:
    if parameter.default is REQUIRED:
        return "required"
    if isinstance(parameter.default, float):
        return f"{parameter.default:g}"
    if isinstance(parameter.default, bool):
        return str(parameter.default).lower()
    return str(parameter.default)


def _section(cls: type[Synopsis]) -> str:
    parts = [
        f"## {cls.kind}",
        _first_paragraph(cls),
        f"**Guarantee**: {cls.guarantee}.",
        f"**Traits**: {', '.join(_traits(cls)) or 'none'}. "
        f"**Fields** that a create names: {fields_text(kind_info(declaration(cls)))}.",
    ]
    if cls.parameters:
        rows = [
            [code(p.name), _expected(p), code(_default(p)), p.doc] for p in cls.parameters.values()
        ]
        parts.append(markdown.table(["parameter", "expected", "default", "meaning"], rows))
    rows = [[code(q.name), _arguments(q), q.doc] for q in cls.questions.values()]
    parts.append(markdown.table(["question", "arguments", "answer"], rows))
    return "\n\n".join(parts)


def _first_paragraph(cls: type[Synopsis]) -> str:
    return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")


def _expected(parameter: Parameter) -> str:
    return f"{parameter.expected}, in {parameter.unit}" if parameter.unit else parameter.expected


def _arguments(question: Question) -> str:
    words = [_OTHERS[question.others]] if question.others else []
    for argument in question.arguments:
        default = "" if argument.default is REQUIRED else f" (default {code(_default(argument))})"
        words.append(f"{code(argument.name)}: {argument.expected}{default}")
    if question.across:
        words.append("asked of all streams together")
    return "; ".join(words)
