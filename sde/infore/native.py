"""Records as native messages: what the rest of the engine keeps, logs and decodes again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sde.infore.requests import translate
from sde.wire import Ask, Create, Definition, ListAll, Request, Restore, Watch

Message = dict[str, Any]


def native_messages(
    message: Message, place: str, running: Callable[[str], Definition | None]
) -> list[Message]:
    """What `translate` makes of a request, in the words of the native dialect.

    >>> message = {"requestID": 100, "dataSetkey": "Forex", "uid": 1110}
    >>> native_messages(message, "requests-0-17", lambda uid: None)
    [{'id': 'requests-0-17', 'op': 'snapshot', 'uid': '1110'}]
    """
    return [as_message(record) for record in translate(message, place, running)]


def as_message(record: Request) -> Message:
    """The native message that decodes to this record."""
    told = {"id": record.id, "op": record.op, **_fields(record)}
    return {name: value for name, value in told.items() if value is not None}


def _fields(record: Request) -> Message:
    match record:
        case Create():
            return {"uid": record.uid, **record.definition.as_json()}
        case Ask():
            return _question(record)
        case Watch():
            return {**_question(record.question), "on": record.on, "each": record.each or None}
        case ListAll():
            return {"dataset": record.dataset}
        case Restore():
            return {"uid": record.uid, "version": record.version, "as": record.as_uid}
        case _:
            return {"uid": getattr(record, "uid", None)}


def _question(ask: Ask) -> Message:
    named: Message = {"uid": ask.uids[0]} if len(ask.uids) == 1 else {"uids": list(ask.uids)}
    return {**named, "query": ask.query, "stream": ask.stream}
