"""watch, unwatch and watches: answers that come by themselves."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import get_args

import click

from clients.answers import Answer
from clients.cli.arguments import parse_value
from clients.cli.hints import hints_for_estimate
from clients.cli.live import shown_live
from clients.cli.printing import print_json, print_table
from clients.cli.question_options import Question, question_options
from clients.cli.session import Session, connected
from clients.descriptions import WatchInfo
from clients.errors import Refused
from clients.handle import Each, Occasion
from clients.pending import Pending
from clients.watch import Watch
from clients.wording import shown, time_text
from sde import wire

_SECONDS_A_POLL = 0.05


@click.command()
@question_options(wire.Watch)
@click.option("--every", metavar="DURATION", help="Answer this often.")
@click.option(
    "--on",
    type=click.Choice(get_args(Occasion)),
    help="Answer when the value has changed, or when a window closes.",
)
@click.option("--threshold", metavar="NUMBER|SHARE%", help="How large a change must be.")
@click.option("--when", metavar="CONDITION", help="Answer when this becomes true or false.")
@click.option(
    "--each",
    type=click.Choice(get_args(Each)),
    help="With --on change: answer for each key, or stream, that had tuples.",
)
@click.option("--drift", type=float, help="With --sites: how far off the value may be.")
@click.option("--count", type=click.IntRange(min=1), help="End after this many answers.")
@connected
def watch(
    session: Session,
    question: Question,
    every: str | None,
    on: Occasion | None,
    threshold: str | None,
    when: str | None,
    each: Each | None,
    drift: float | None,
    count: int | None,
) -> None:
    """Ask again and again, until Ctrl-C or SIGTERM. Of several synopses each is watched by itself.

    \b
    sde watch trades key=ann --every 1s
    sde watch traders orders --on change --threshold 5%
    sde watch trades --on change --each key
    sde watch last-minutes --on close --json
    sde watch trades key=ann --when '>= 1000' --count 1
    sde watch trades --ask total --every 1s --sites '*' --drift 500
    """
    if every is None and on is None and when is None:
        raise click.UsageError("expected --every DURATION, --on change, --on close or --when ...")
    with (
        _sigterm_as_ctrl_c(),
        session.client() as client,
        hints_for_estimate(),
        ExitStack() as running,
    ):
        pending = {
            uid: client.submit_watch(
                uid,
                question.ask,
                every=every,
                on=on,
                threshold=None if threshold is None else parse_value(threshold),
                when=when,
                each=each,
                drift=drift,
                **question.options,
            )
            for uid in dict.fromkeys(question.uids)
        }
        watches = _begun(pending, running)
        with suppress(KeyboardInterrupt):  # the way to end it
            _show(session, watches, _answers(watches, count))
        for uid, one in watches.items():
            if one.ended:
                click.echo(f"{uid}: the watch ended: {one.ended}", err=True)


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """A watch runs on in the engine if its command does not end it, whatever ends the command."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # timeout(1) sends it twice
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _begun(pending: dict[str, Pending[Watch]], running: ExitStack) -> dict[str, Watch]:
    """All, or none if one is refused."""
    watches, refusals = {}, []
    for uid, each in pending.items():
        try:
            watches[uid] = running.enter_context(each.result())
        except Refused as error:
            refusals.append(error)
    if refusals:
        raise refusals[0]
    return watches


def _answers(watches: dict[str, Watch], count: int | None) -> Iterator[tuple[str, Answer]]:
    """Whatever comes first, until all have ended or `count` have come."""
    seen = 0
    while True:
        ended = all(each.ended for each in watches.values())
        for uid, each in watches.items():
            while (answer := _next(each)) is not None:
                yield uid, answer
                seen += 1
                if seen == count:
                    return
        if ended:
            return
        time.sleep(_SECONDS_A_POLL)


def _next(watch: Watch) -> Answer | None:
    try:
        return watch.poll()
    except Refused as error:  # this time; the watch goes on
        return replace(Answer.of(error.reply), value=str(error))


def _show(
    session: Session, watches: dict[str, Watch], answers: Iterable[tuple[str, Answer]]
) -> None:
    if session.as_json:
        for _, answer in answers:
            print_json(answer.raw)
    else:
        shown_live(answers, several=len(watches) > 1)


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="WATCH...")
@connected
def unwatch(session: Session, ids: tuple[str, ...]) -> None:
    """End watches that run on, by the ids of the requests that began them.

    'sde watch' ends its own; 'sde watches' shows the ids.

    \b
    sde unwatch 0b6c4e5f7a8d4d0c9a3e2f1b5c6d7e8f
    """
    with session.client() as client:
        for pending in [client.submit("unwatch", watch=each) for each in ids]:
            pending.result()
    if session.as_json:
        print_json({"unwatched": ids})


@click.command()
@click.argument("uid", required=False)
@click.option("--dataset", help="Only those that ask synopses of this data set.")
@connected
def watches(session: Session, uid: str | None, dataset: str | None) -> None:
    """List the watches that run: what they ask, when, and the number of their last answer.

    \b
    sde watches
    sde watches trades
    """
    with session.client() as client, hints_for_estimate():
        found = client.watches(uid, dataset=dataset)
    if session.as_json:
        print_json([each.raw for each in found])
    elif found:
        rows = [
            [each.watch, _asked(each), _occasion(each), time_text(each.due), each.number]
            for each in found
        ]
        print_table(["watch", "asks", "answers", "next", "number"], rows, numbers=["number"])
    else:
        click.echo("No watch runs" + (f" on {uid}." if uid else "."))


def _asked(watch: WatchInfo) -> str:
    """What it asks, as one would write it on the command line."""
    words = [f"{name}={shown(value)}" for name, value in watch.query.items()]
    options = {"--stream": watch.stream, "--sites": ",".join(watch.sites) or None}
    said = [f"{name} {value}" for name, value in options.items() if value is not None]
    return " ".join([*watch.uids, *words, *said])


def _occasion(watch: WatchInfo) -> str:
    """When it answers, in the same way."""
    names = ("every", "on", "threshold", "when", "each", "drift")
    options = {name: getattr(watch, name) for name in names}
    return " ".join(f"--{name} {value}" for name, value in options.items() if value is not None)
