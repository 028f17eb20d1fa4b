"""create, estimate, delete, list, describe."""

from __future__ import annotations

from typing import Any

import click
from msgspec import structs

from clients.cli.arguments import parse_scope, parse_values
from clients.cli.hints import hints_for_create, hints_for_estimate
from clients.cli.printing import (
    print_answer,
    print_descriptions,
    print_json,
    print_object,
)
from clients.cli.question_options import Question, question_options
from clients.cli.session import Session, connected
from clients.cli.sites import sites_options, tell_missing
from clients.cli.streams import estimate_streams
from clients.cli.window_options import time_for_kind, window_options
from clients.handle import Sites
from sde import wire
from sde.wire import catalogue

_OPTIONS = {each.encode_name for each in structs.fields(wire.Create)} - {"id", "kind", "params"}


class ListsKinds(click.Command):
    """A command whose help ends with the kinds there are."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Kinds (parameters and questions: sde kinds KIND)"):
            formatter.write_dl(
                [(kind, declared.doc) for kind, declared in catalogue.kinds().items()]
            )


@click.command(cls=ListsKinds)
@click.argument("kind")
@click.argument("params", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--dataset", required=True, help="The data set to summarise.")
@click.option("--uid", help="Its name; one is made if you give none.")
@click.option(
    "--key",
    multiple=True,
    metavar="FIELD",
    help="The field whose values are the keys (repeated: these make the key together).",
)
@click.option(
    "--value", multiple=True, metavar="FIELD", help="The field whose values are added (repeatable)."
)
@click.option(
    "--where", metavar="EXPRESSION", help="Count only tuples that this is true of: 'qty > 0'."
)
@click.option(
    "--scope",
    default="dataset",
    show_default=True,
    metavar="dataset|stream|stream=NAME",
    help="One summary of the data set, one for each stream, or one for one stream.",
)
@window_options
@click.option("--ttl", metavar="DURATION", help="Delete it so long after its creation.")
@click.option(
    "--idle", metavar="DURATION", help="Forget a stream after so long without a tuple of it."
)
@click.option("--reuse", is_flag=True, help="Take a synopsis with this definition if there is one.")
@sites_options
@connected
def create(
    session: Session,
    kind: str,
    params: tuple[str, ...],
    dataset: str,
    uid: str | None,
    key: tuple[str, ...],
    value: tuple[str, ...],
    where: str | None,
    scope: str,
    window: dict[str, Any] | None,
    time: str | None,
    ttl: str | None,
    idle: str | None,
    reuse: bool,
    sites: Sites | None,
    deadline: str | None,
) -> None:
    """Create a synopsis.

    \b
    sde create count_min --dataset Forex --uid trades --key StockID epsilon=0.01
    sde create hyperloglog --dataset Forex --key trader --window 5m --slide 10s --lateness 30s
    sde create count_min --dataset Forex --key venue --key trader --where 'qty > 0'
    """
    declared = catalogue.kinds().get(kind)
    own = set(declared.parameter_names) if declared else set()  # such as the `window` of dft
    parsed = parse_values(params, options=_OPTIONS - own)
    if window is not None and "window" in parsed:
        raise click.UsageError("--window: expected without the parameter window=... of this kind")
    window = parsed.pop("window", window)
    with session.client() as client, hints_for_create(kind):
        handle = client.create(
            kind,
            dataset=dataset,
            uid=uid,
            key=_one_or_all(key),
            value=_one_or_all(value),
            where=where,
            scope=parse_scope(scope),
            window=window,
            time=time_for_kind(client, kind, time, window),
            ttl=ttl,
            idle=idle,
            reuse=reuse,
            sites=sites,
            deadline=deadline,
            **parsed,
        )
    if session.as_json:
        print_json({"uid": handle.uid})
    else:
        click.echo(handle.uid)


def _one_or_all(fields: tuple[str, ...]) -> str | tuple[str, ...] | None:
    return fields[0] if len(fields) == 1 else fields or None


@click.command()
@question_options(wire.Ask)
@click.option(
    "--top", type=int, help="With --stream '*': only so many streams, the largest value first."
)
@connected
def estimate(session: Session, question: Question, top: int | None) -> None:
    """Ask a synopsis, or several. Words with '=' belong to the question, the others are uids.

    With --stream '*' all streams of a synopsis are asked, and a table has a row for each.

    \b
    sde estimate trades key=AAPL --stream EURUSD
    sde estimate trades key=AAPL --stream '*' --top 10
    sde estimate trades key='["X", "ann"]'
    sde estimate trades orders --ask inner_product
    sde estimate last-minutes --end 2024-01-01T12:05:00Z
    sde estimate trades key=AAPL --sites '*'
    """
    if question.options["stream"] == wire.ALL_STREAMS:
        estimate_streams(session, question, top)
        return
    if top is not None:
        raise click.UsageError("--top: expected with --stream '*'")
    with session.client() as client, hints_for_estimate():
        answer = client.estimate(question.uids, question.ask, **question.options)
    if session.as_json:
        print_json(answer.raw)
    else:
        print_answer(answer)
        tell_missing(answer)


@click.command()
@click.argument("uids", nargs=-1, required=True, metavar="UID...")
@sites_options
@connected
def delete(
    session: Session, uids: tuple[str, ...], sites: Sites | None, deadline: str | None
) -> None:
    """Delete synopses, and name each that is gone."""
    over = {"sites": sites, "deadline": deadline}
    deleted: list[str] = []
    with session.client() as client, hints_for_estimate():
        try:
            for pending in [client.submit("delete", uid=uid, **over) for uid in uids]:
                pending.result()
                deleted.append(pending.request["uid"])
        finally:
            if session.as_json:
                print_json({"deleted": deleted})
            else:
                click.echo("\n".join(deleted), nl=bool(deleted))


@click.command("list")
@click.option("--dataset", help="Only those of this data set.")
@connected
def list_(session: Session, dataset: str | None) -> None:
    """List the synopses."""
    with session.client() as client:
        found = client.list(dataset)
    if session.as_json:
        print_json([each.raw for each in found])
    elif found:
        print_descriptions(found)
    else:
        click.echo("There are no synopses" + (f" of {dataset}." if dataset else "."))


@click.command()
@click.argument("uid")
@click.option("--digest", is_flag=True, help="Show the digest of a state beyond 1 MiB, too.")
@connected
def describe(session: Session, uid: str, digest: bool) -> None:
    """Show one synopsis: its definition and what it holds."""
    with session.client() as client, hints_for_estimate():
        found = client.describe(uid, digest=digest)
    if session.as_json:
        print_json(found.raw)
    else:
        print_object(found.raw)
