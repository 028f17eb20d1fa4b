"""The words and options that say which question is meant, and about which part of a synopsis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import click
from msgspec import structs

from clients.cli.arguments import parse_question
from clients.cli.sites import sites_options
from clients.handle import Sites
from clients.times import Moment
from sde import wire
from sde.wire import catalogue

Command = Callable[..., None]

stream_option = click.option(
    "--stream", help="Which stream, where a synopsis has one summary for each."
)
_NOT_OPTIONS = {"id", "uid", "uids", "query", "after", "limit"}  # words, or said by the client


class QuestionOptions(TypedDict):
    """Keywords of `Client.estimate` and `Client.watch`."""

    query: Mapping[str, Any]
    stream: str | None
    end: Moment | None
    span: tuple[Moment, Moment] | None
    sites: Sites | None
    deadline: str | None


@dataclass(frozen=True)
class Question:
    """What the user asks, and of which synopses."""

    uids: list[str]
    ask: str | None
    options: QuestionOptions


def span_options(command: Command) -> Command:
    """Hand the command `end` and `span`, as `Client.estimate` takes them."""

    @click.option("--end", metavar="TIME", help="The window that ended there: ms or ISO 8601.")
    @click.option(
        "--from", "start", metavar="TIME", help="Instead of one window: all from here ..."
    )
    @click.option("--to", "stop", metavar="TIME", help="... to here.")
    @functools.wraps(command)
    def run(*args: Any, end: str | None, start: str | None, stop: str | None, **rest: Any) -> None:
        if (start is None) != (stop is None):
            raise click.UsageError("--from and --to: expected together")
        if end is not None and start is not None:
            raise click.UsageError("--end: expected without --from and --to")
        span = (_moment(start), _moment(stop)) if start is not None and stop is not None else None
        command(*args, end=None if end is None else _moment(end), span=span, **rest)

    return run


def question_options(message: type[wire.Ask | wire.Watch]) -> Callable[[Command], Command]:
    """Hand the command its `Question`; `message` declares which names have an option."""
    names = {each.encode_name for each in structs.fields(message)}
    taken = names - _NOT_OPTIONS

    def decorate(command: Command) -> Command:
        @click.argument("words", nargs=-1, required=True, metavar="UID... [NAME=VALUE]...")
        @click.option(
            "--ask", metavar="QUESTION", help="Which question; the kind's first if left out."
        )
        @stream_option
        @span_options
        @sites_options
        @functools.wraps(command)
        def run(
            *args: Any,
            words: tuple[str, ...],
            ask: str | None,
            stream: str | None,
            end: Moment | None,
            span: tuple[Moment, Moment] | None,
            sites: Sites | None,
            deadline: str | None,
            **rest: Any,
        ) -> None:
            uids, query = parse_question(words, options=taken - _arguments(ask))
            options = QuestionOptions(
                query=query, stream=stream, end=end, span=span, sites=sites, deadline=deadline
            )
            command(*args, question=Question(uids, ask, options), **rest)

        return run

    return decorate


def _arguments(ask: str | None) -> set[str]:
    """Names of arguments that a question has, whichever kind is asked: `threshold` of pairs."""
    asked = [kind.question(ask) for kind in catalogue.kinds().values()]
    return {argument.name for each in asked if each for argument in each.arguments}


def _moment(text: str) -> Moment:
    return int(text) if text.removeprefix("-").isdecimal() else text
