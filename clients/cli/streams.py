"""streams, and estimate of all streams: tables with a row for each stream of a synopsis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from clients.answers import Answer
from clients.cli.hints import hints_for_estimate
from clients.cli.printing import print_json, print_table, print_warnings
from clients.cli.question_options import Question
from clients.cli.session import Session, connected
from clients.wording import size, time_text

_TOLD = 5  # streams whose warnings are printed


@click.command()
@click.argument("uid")
@connected
def streams(session: Session, uid: str) -> None:
    """List the streams of a synopsis that has a summary for each, and what each holds.

    \b
    sde streams traders
    """
    with session.client() as client, hints_for_estimate():
        found = client.streams(uid)
    if session.as_json:
        print_json([each.raw for each in found])
    elif found:
        rows = [[each.stream, each.tuples, each.skipped, size(each.bytes)] for each in found]
        columns = ["stream", "tuples", "skipped", "memory"]
        print_table(columns, rows, numbers=columns[1:])
    else:
        click.echo(f"No tuple of any stream has come to {uid} yet.")
    print_warnings(found.warnings)


def estimate_streams(session: Session, question: Question, top: int | None) -> None:
    """Ask all streams of the one synopsis of a question, and print the answers."""
    options = question.options
    if len(question.uids) != 1:
        raise click.UsageError("--stream '*': expected one UID")
    if options["sites"] is not None:
        raise click.UsageError("--sites: expected without --stream '*'; ask each site by itself")
    with session.client() as client, hints_for_estimate():
        answers = client.estimate_streams(
            question.uids[0],
            question.ask,
            query=options["query"],
            end=options["end"],
            span=options["span"],
            top=top,
        )
    if session.as_json:
        print_json([each.raw for each in answers])
    elif answers:
        _print_answers(answers)
        _tell_unanswered(answers)
        _warn(answers)
    else:
        click.echo(f"No stream of {question.uids[0]} has an answer.")
    print_warnings(answers.warnings)


def _print_answers(answers: Sequence[Answer]) -> None:
    columns: dict[str, list[Any]] = {
        "stream": [each.stream for each in answers],
        "from": [each.window and time_text(each.window.start) for each in answers],
        "to": [each.window and time_text(each.window.end) for each in answers],
        "value": [each.value for each in answers],
        "lower": [each.lower for each in answers],
        "upper": [each.upper for each in answers],
        "tuples": [each.tuples for each in answers],
    }
    filled = {name: cells for name, cells in columns.items() if any(c is not None for c in cells)}
    numbers = [
        name
        for name, cells in filled.items()
        if all(isinstance(cell, int | float | None) for cell in cells)
    ]
    print_table(list(filled), zip(*filled.values(), strict=True), numbers=numbers)


def _tell_unanswered(answers: Sequence[Answer]) -> None:
    """Why streams have no value, and how many."""
    reasons = Counter(
        reason
        for each in answers
        if each.value is None
        for reason in each.raw.get("warnings", ("the question has none",))
    )
    for reason, count in reasons.items():
        click.echo(f"{count} without a value: {reason}", err=True)


def _warn(answers: Sequence[Answer]) -> None:
    """What answers with a value warn of: of the first streams, as many as people read."""
    warned = [each for each in answers if each.value is not None and each.warnings]
    print_warnings(f"{each.stream}: {text}" for each in warned[:_TOLD] for text in each.warnings)
    if len(warned) > _TOLD:
        print_warnings([f"{len(warned) - _TOLD:,} more streams have warnings: --json shows them"])
