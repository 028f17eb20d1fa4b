"""Requests of the native dialect, as plain frozen records, and how JSON becomes one.

Every record has the sender's `id`; without one it is made from where the request stood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sde.messages.faults import Code
from sde.messages.fields import Fields

DATASET_SCOPE = "dataset"
STREAM_SCOPE = "stream"


@dataclass(frozen=True, slots=True)
class Definition:
    """What a synopsis summarises and how; equal definitions are the same synopsis."""

    dataset: str
    kind: str
    params: dict[str, Any] = field(default_factory=dict)
    key: str = ""  # the field whose values are the keys; "" for none
    values: tuple[str, ...] = ()  # the fields whose values are added; () counts 1
    scope: str = DATASET_SCOPE  # or STREAM_SCOPE
    stream: str | None = None  # with STREAM_SCOPE: only this stream

    def as_json(self) -> dict[str, Any]:
        scope: Any = self.scope if self.stream is None else {"stream": self.stream}
        value: Any = self.values[0] if len(self.values) == 1 else list(self.values)
        return {
            "dataset": self.dataset,
            "kind": self.kind,
            "params": self.params,
            **({"key": self.key} if self.key else {}),
            **({"value": value} if self.values else {}),
            "scope": scope,
        }


@dataclass(frozen=True, slots=True)
class Create:
    id: str
    uid: str
    definition: Definition
    reuse: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """Estimate: `uids` holds one synopsis, or several for a question about several."""

    id: str
    uids: tuple[str, ...]
    query: dict[str, Any]
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Export:
    """The merged state of a synopsis as bytes, in our format or that of Apache DataSketches."""

    id: str
    uid: str
    stream: str | None = None
    format: str = "native"


@dataclass(frozen=True, slots=True)
class Delete:
    id: str
    uid: str


@dataclass(frozen=True, slots=True)
class ListAll:
    id: str
    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class Describe:
    id: str
    uid: str


Request = Create | Ask | Export | Delete | ListAll | Describe


def decode_create(fields: Fields, request_id: str) -> Create:
    scope, stream = fields.scope("scope")
    definition = Definition(
        dataset=fields.text("dataset"),
        kind=fields.text("kind"),
        params=fields.object("params"),
        key=fields.text("key", default=""),
        values=fields.texts("value"),
        scope=scope,
        stream=stream,
    )
    return Create(request_id, fields.uid("uid"), definition, fields.flag("reuse"))


def decode_ask(fields: Fields, request_id: str) -> Ask:
    uids = fields.uids("uids") if fields.has("uids") else (fields.uid("uid"),)
    stream = fields.text("stream") if fields.has("stream") else None
    return Ask(request_id, uids, fields.object("query"), stream)


def decode_export(fields: Fields, request_id: str) -> Export:
    stream = fields.text("stream") if fields.has("stream") else None
    chosen = fields.choice("format", ("native", "datasketches"))
    return Export(request_id, fields.uid("uid"), stream, chosen)


def decode_delete(fields: Fields, request_id: str) -> Delete:
    return Delete(request_id, fields.uid("uid"))


def decode_list(fields: Fields, request_id: str) -> ListAll:
    return ListAll(request_id, fields.text("dataset") if fields.has("dataset") else None)


def decode_describe(fields: Fields, request_id: str) -> Describe:
    return Describe(request_id, fields.uid("uid"))


_DECODERS: dict[str, Callable[[Fields, str], Request]] = {
    "create": decode_create,
    "estimate": decode_ask,
    "export": decode_export,
    "delete": decode_delete,
    "list": decode_list,
    "describe": decode_describe,
}
OPS = tuple(_DECODERS)


def op_of(request: Request) -> str:
    """The name a request has on the wire."""
    names = {
        Create: "create",
        Ask: "estimate",
        Export: "export",
        Delete: "delete",
        ListAll: "list",
        Describe: "describe",
    }
    return names[type(request)]


def decode_request(message: dict[str, Any], place: str) -> Request:
    """The record of a request; Refusal says what is wrong. `place` serves as id if none is given.

    >>> decode_request({"id": "r-1", "op": "delete", "uid": "u"}, "requests-0-17")
    Delete(id='r-1', uid='u')
    """
    fields = Fields(message)
    op = fields.text("op")
    if op not in _DECODERS:
        fields.refuse("op", f"one of {', '.join(OPS)}", Code.UNKNOWN_OP)
    request_id = fields.text("id") if fields.has("id") else place
    request = _DECODERS[op](fields, request_id)
    fields.refuse_unknown(also=("op", "id"))
    return request
