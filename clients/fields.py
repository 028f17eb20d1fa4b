"""Fields of requests, made from the arguments of the client's methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from clients.handle import HasUid, Scope, Sites, Stream, Uid
from clients.suggestions import check_question
from clients.times import Duration, Moment, duration, span_of
from clients.tuples import stream_name


class QuestionFields(TypedDict):
    """The fields that `estimate` and `watch` have in common, by their names in `sde.wire`."""

    uid: str | None
    several: list[str] | None
    query: dict[str, Any]
    stream: str | None
    end: int | str | None
    start: int | str | None
    to: int | str | None
    sites: str | list[str] | None
    deadline: str | None


def text(uid: Uid) -> str:
    return uid.uid if isinstance(uid, HasUid) else str(uid)


def optional_stream(stream: Stream | None) -> str | None:
    """The stream that is meant, if one is; a whole number is its digits, as it is in `send`."""
    return None if stream is None else stream_name(stream)


def scope_of(scope: Scope) -> str | dict[str, Any]:
    """The same for the stream of a scope."""
    if isinstance(scope, str):
        return scope
    return {n: optional_stream(v) if n == "stream" else v for n, v in scope.items()}


def site_names(sites: Sites | None) -> str | list[str] | None:
    """The sites a request is about: "*", one name or several."""
    if sites is None or sites == "*":
        return sites
    return [sites] if isinstance(sites, str) else [*sites]


def question_fields(
    synopses: Uid | Sequence[Uid],
    question: str | None,
    arguments: Mapping[str, Any],
    *,
    query: Mapping[str, Any] | None,
    stream: Stream | None,
    end: Moment | None,
    span: tuple[Moment, Moment] | None,
    sites: Sites | None,
    deadline: Duration | None,
    of_watch: bool = False,
) -> QuestionFields:
    several = [synopses] if isinstance(synopses, str | int | HasUid) else synopses
    for one in several:
        kind = "" if isinstance(one, str | int) else getattr(one, "kind", "")
        check_question(kind, question, arguments, of_watch)
    uids = [text(uid) for uid in several]
    asked = {} if question is None else {"type": question}
    when = span_of(end, span)
    return {
        "uid": uids[0] if len(uids) == 1 else None,
        "several": uids if len(uids) != 1 else None,
        "query": {**asked, **(query or {}), **arguments},
        "stream": optional_stream(stream),
        "end": when.end,
        "start": when.start,
        "to": when.to,
        "sites": site_names(sites),
        "deadline": duration(deadline),
    }
