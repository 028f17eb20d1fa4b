"""docs/reference/messages.md: every request, from its one declaration in sde/wire."""

from __future__ import annotations

import inspect
import typing
from typing import Any

from msgspec import NODEFAULT, Meta, Struct, structs

from docs.generate import markdown
from docs.generate.markdown import code
from sde.wire import Request
from sde.wire.forms import Expected
from sde.wire.windows import WindowMessage

_INTRODUCTION = """\
Everything that travels is JSON on Kafka topics; the [client](../how-to/clients.md) only makes it
comfortable. Names of topics are [settings](settings.md#topics).

| topic | default name | what is in it |
| --- | --- | --- |
| data | `sde-data` | [tuples](#tuples), also as Arrow streams |
| requests | `sde-requests` | [requests](#requests); one partition, so that all have one order |
| output | `sde-output` | [replies](#replies); read it with `isolation.level=read_committed` |
| dead letters | `sde-dead-letters` | [what could not be read](#dead-letters) |

Requests of [INFORE's dialect](../how-to/infore-programs.md) may come on the same topics.

## Tuples

```json
{"dataset": "Forex", "stream": "EURUSD", "time": 1700000000123, "values": {"trader": "ann"}}
```

`time` is in ms since the epoch and optional. All forms of a tuple are in
[existing topics](../how-to/existing-topics.md).

## Requests

A request is one JSON object: an `op`, its fields, and an `id` of the sender's choice. Without an
`id` the engine makes one from the message's place in the topic. A repeated `id` changes nothing and
gets the [outcome of the first](../concepts/exactly-once.md#repeated-requests). A field that is null
counts as left out; an unknown field is refused, so that a misspelt one is not ignored in silence.
A request has at most 4 MiB, an `import` 16 MiB.

```json
{"id": "r-1", "op": "create", "uid": "trades", "dataset": "Forex", "kind": "count_min",
 "key": "trader", "params": {"epsilon": 0.01}}
{"id": "r-2", "op": "estimate", "uid": "trades", "query": {"type": "frequency", "key": "ann"}}
```

A duration is a number and a unit: `"500ms"`, `"30s"`, `"5m"`, `"2h"`, `"1d"`. A time is in
milliseconds since the epoch, or ISO 8601. A name (of a data set, stream, field, uid) has at most
512 characters; as a uid the number `1110` stands for `"1110"`."""
_OBJECT = "an object: see [window](#window)"
_VALUES = {
    "create": "–",
    "delete": "–",
    "estimate": "the estimate, with `lower`, `upper`, `confidence`, `digest`, `warnings`; of all "
    "streams: rows",
    "watch": "– at first; then numbered answers, each with an estimate",
    "unwatch": "–",
    "watches": "a row for each: `watch` (its id), its fields, `since`, `due`, `number`, `holds`",
    "export": "the state in base64",
    "import": "–",
    "list": "for each synopsis what `describe` says; `next` beside it if there are more",
    "describe": "definition, tuples, skipped, shed, streams, bytes, digest; of windows: panes, "
    "late tuples; of plug-ins: tuples missed",
    "streams": "a row for each stream: tuples, skipped, bytes",
    "snapshot": "the name of the version",
    "restore": "the name of the version",
    "snapshots": "the versions",
    "remove_snapshot": "the name of the version",
    "plugin": "name, version, kind, state; with `migrate`: how many synopses were `moved`",
    "plugins": "all versions: key, state (`active`, `tried`, or `quarantined` with `reason`), "
    "synopses, and what the class has `declared`: fields, parameters, questions",
    "unplug": "the kinds that are gone",
    "release": "the kinds that go on",
    "source": "its name; beside it `warnings`, if its topic does not exist yet",
    "unsource": "its name",
    "sources": "the fields of each, and `dead_letters`: how many of its records became some since "
    "it has its mapping; `warnings` of one whose topic does not exist yet",
    "preview": "`messages` (how many were looked at), `tuples` (`removes`: to be taken away), "
    "`dead_letters`",
    "sites": "for each site whether it answers, and bytes sent and received",
}
_REPLIES = """\
## Replies

Every request gets exactly one reply, with `"status": "ok"` or `"error"`. A watch gets more: each of
its answers has the watch's id as `request` and a growing `number`. The Kafka key of a reply is
the uid.

```json
{"id": "r-2/17", "request": "r-2", "op": "estimate", "status": "ok", "uid": "trades",
 "dataset": "Forex", "kind": "count_min", "value": 2.0, "lower": 1.97, "upper": 2.0,
 "confidence": 0.99, "tuples": 3, "since": 1700000000000, "batch": 17, "site": "main"}
{"id": "r-3/17", "request": "r-3", "op": "estimate", "status": "error", "code": "unknown_synopsis",
 "message": "uid='nobody': expected the uid of a synopsis", "field": "uid", "batch": 17,
 "site": "main"}
```

| field | meaning |
| --- | --- |
| `id` | the reply's own: request and batch (`r-2/17`), or watch and number (`w-1#5`) |
| `request`, `op` | what is replied to |
| `status` | `ok` or `error` |
| `value`, `lower`, `upper`, `confidence` | of an answer: see [bounds](../concepts/bounds.md) |
| `uid`, `dataset`, `kind`, `stream`, `tuples`, `since` | what it is about |
| `window` | `start` and `end` of a windowed one, in ms (`"unit": "tuples"`: in tuples) |
| `warnings` | [tuples that are not in it](../concepts/bounds.md#what-is-not-in-an-answer), topics \
that are not there |
| `number`, `holds` | of a [watch](../how-to/watches-and-alerts.md) |
| `next` | of a list or table: the `after` of the next page, if there is one |
| `streams`, `unanswered` | of all streams: how many there are; how many have no value here |
| `sites`, `missing`, `complete`, `age`, `drift` | of [several sites](../how-to/several-sites.md) |
| `code`, `message`, `field` | of an error: see [fault codes](faults.md) |
| `batch`, `site` | the micro-batch and the engine that replied |
| `as_of`, `lag` | over [HTTP](../how-to/http.md), of an answer beside the batches: when that \
batch began, in ms; how many messages were left to be read, as the engine last said |

A reply that is larger than the output topic takes (16 MiB, if the engine made the topic) becomes an
error with the code `too_large` and the same `request`. The same holds for replies of one batch that
are too large together (64 MiB).

## Dead letters

What is no tuple at all becomes a message on the dead-letter topic: `topic`, `partition`,
`offset` and `line` say where it stood, `code` and `message` what was wrong, `bytes` how long it
was, `excerpt` has its first 1024 bytes in base64. Of one message at most 1000 lines are
reported one by one; one more letter says how many `lines` followed. `source` is the name of the
source that read it, if one did."""


def text() -> str:
    requests = typing.get_args(Request)
    overview = markdown.table(
        ["op", "what it does", "`value` of the reply"],
        [[f"[`{_op(cls)}`](#{_op(cls)})", _doc(cls), _VALUES[_op(cls)]] for cls in requests],
    )
    sections = [_section(cls) for cls in requests]
    window = "\n\n".join(
        [
            "### window",
            f"{_doc(WindowMessage)} See [windows](../concepts/windows.md).",
            _fields(WindowMessage),
        ]
    )
    return markdown.page("Messages", _INTRODUCTION, overview, *sections, window, _REPLIES)


def _op(cls: type[Struct]) -> str:
    return str(cls.__struct_config__.tag)


def _doc(cls: type[Struct]) -> str:
    return (inspect.getdoc(cls) or "").replace("\n", " ")


def _section(cls: type[Struct]) -> str:
    fields = _fields(cls) or "No fields beside `id` and `op`."
    return "\n\n".join([f"### {_op(cls)}", _doc(cls), fields])


def _fields(cls: type[Struct]) -> str:
    hints = typing.get_type_hints(cls, include_extras=True)
    rows = [
        [
            code(field.encode_name),
            next((m.text for m in _marks(hints[field.name], Expected)), _OBJECT),
            _default(field),
            next(m.description for m in _marks(hints[field.name], Meta) if m.description),
        ]
        for field in structs.fields(cls)
        if field.encode_name != "id"
    ]
    return markdown.table(["field", "expected", "default", "meaning"], rows) if rows else ""


def _default(field: structs.FieldInfo) -> str:
    if field.default is NODEFAULT and field.default_factory is NODEFAULT:
        return "required"
    if field.default in (NODEFAULT, None, ""):
        return "–"
    return code(
        str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
    )


def _marks(annotation: Any, cls: type[Any]) -> list[Any]:
    """What `Annotated` says of a field, the outermost first, through unions."""
    found = [mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, cls)]
    for part in typing.get_args(annotation):
        if typing.get_origin(annotation) is not list:
            found += _marks(part, cls)
    return found
