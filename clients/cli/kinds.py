"""kinds: the catalogue, from the declarations of the kinds themselves."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from clients.cli.hints import nearest
from clients.cli.printing import print_json, print_table, shown_plainly
from clients.cli.session import json_option
from sde.wire import catalogue


@click.command()
@click.argument("kind", required=False)
@json_option
def kinds(kind: str | None, as_json: bool) -> None:
    """List the kinds, or explain one.

    \b
    sde kinds count_min
    """
    known = catalogue.kinds()
    if kind is not None and kind not in known:
        raise click.UsageError(
            f"{kind!r}: expected a kind. {nearest(kind, known)}'sde kinds' lists all."
        )
    if as_json:
        print_json(list(known.values()) if kind is None else known[kind])
    elif kind is None:
        rows = [
            [name, declared["doc"], _names(declared["questions"]), _names(declared["parameters"])]
            for name, declared in known.items()
        ]
        print_table(["kind", "what it answers", "questions", "parameters"], rows)
    else:
        _print_kind(known[kind])


def _names(parts: list[dict[str, Any]]) -> str:
    return ", ".join(each["name"] for each in parts)


def _print_kind(declared: dict[str, Any]) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{declared['kind']}[/bold]  {declared['doc']}")
    if declared["guarantee"]:
        console.print("\nGuarantee: " + declared["guarantee"], markup=False)
    traits = [t for t in ("mergeable", "linear", "order_free", "idempotent") if declared[t]]
    console.print("Traits: " + (", ".join(traits) or "none"), markup=False)
    console.print("\n[bold]Parameters[/bold] (sde create ... NAME=VALUE)")
    print_table(
        ["name", "expected", "default", "meaning"],
        [[p["name"], _expected(p), _default(p), p["doc"]] for p in declared["parameters"]],
    )
    console.print("[bold]Questions[/bold] (sde estimate UID --ask QUESTION NAME=VALUE)")
    print_table(
        ["question", "arguments", "meaning"],
        [[q["name"], _arguments(q), q["doc"]] for q in declared["questions"]],
    )


def _expected(declared: dict[str, Any]) -> str:
    return str(declared["expected"]) + (f", in {declared['unit']}" if "unit" in declared else "")


def _default(declared: dict[str, Any]) -> str:
    return shown_plainly(declared.get("default", "required"))


def _arguments(question: dict[str, Any]) -> str:
    words = [
        f"{a['name']}: {_expected(a)}" + (f" (default {_default(a)})" if "default" in a else "")
        for a in question["arguments"]
    ]
    others = {"one": "another synopsis", "many": "one or more other synopses"}
    if "others" in question:
        words.insert(0, others[question["others"]])
    if question.get("across"):
        words.append("about all streams together")
    return "; ".join(words)
