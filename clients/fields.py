"""Fields of requests out of what the client's methods are given."""

from __future__ import annotations

from collections.abc import Sequence

from clients.handle import SynopsisHandle
from clients.times import Duration, duration
from clients.transport import Message

Uid = str | int | SynopsisHandle
Sites = str | Sequence[str]


def text(uid: Uid) -> str:
    return uid.uid if isinstance(uid, SynopsisHandle) else str(uid)


def over(sites: Sites | None, deadline: Duration | None) -> Message:
    """The sites a request is about: "*", one name or several."""
    named = (
        sites if sites is None or sites == "*" else [sites] if isinstance(sites, str) else [*sites]
    )
    return {"sites": named, "deadline": duration(deadline)}


def question_fields(
    synopses: Uid | Sequence[Uid], question: str | None, stream: str | None, query: Message
) -> Message:
    one = isinstance(synopses, str | int | SynopsisHandle)
    uids = [text(synopses)] if one else [text(uid) for uid in synopses]  # type: ignore
    return {
        **({"uid": uids[0]} if len(uids) == 1 else {"uids": uids}),
        "query": query if question is None else {"type": question, **query},
        "stream": stream,
    }


def nothing(reply: Message) -> None:
    """What is read from a reply that only acknowledges."""
