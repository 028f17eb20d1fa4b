"""The native dialect: how a JSON object becomes a request."""

from __future__ import annotations

import base64
import binascii
import datetime
import math
import re
from collections.abc import Callable
from typing import Any

from sde.wire.faults import Code
from sde.wire.fields import Fields
from sde.wire.plugins import LARGEST_SOURCE, NAME_FORM
from sde.wire.requests import (
    EACH_KEY,
    EACH_STREAM,
    ON_CHANGE,
    ON_CLOSE,
    Ask,
    Create,
    Definition,
    Delete,
    Describe,
    Export,
    Import,
    ListAll,
    Plugin,
    Plugins,
    Request,
    Restore,
    Sites,
    Snapshot,
    Snapshots,
    Unplug,
    Unwatch,
    Watch,
)
from sde.wire.windows import Span, read_window

VERSION_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # it becomes part of a file name
_CONDITION = re.compile(r"\s*(>=|<=|>|<|==|!=)\s*(\S+)\s*")
_SHORTEST_EVERY = 100


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
        window=read_window(fields, "window"),
        time=fields.text("time", default=""),
        idle=fields.duration("idle") if fields.has("idle") else None,
    )
    ttl = fields.duration("ttl") if fields.has("ttl") else None
    return Create(request_id, fields.uid("uid"), definition, fields.flag("reuse"), ttl)


def decode_delete(fields: Fields, request_id: str) -> Delete:
    return Delete(request_id, fields.uid("uid"))


def decode_ask(fields: Fields, request_id: str) -> Ask:
    uids = fields.uids("uids") if fields.has("uids") else (fields.uid("uid"),)
    return Ask(request_id, uids, fields.object("query"), _stream(fields), _span(fields))


def decode_export(fields: Fields, request_id: str) -> Export:
    chosen = fields.choice("format", ("native", "datasketches"))
    return Export(request_id, fields.uid("uid"), _stream(fields), chosen, _span(fields))


def decode_import(fields: Fields, request_id: str) -> Import:
    state = _base64(fields, "state", "a state in base64, as export gives it")
    tuples = fields.number_or_none("tuples") or 0
    if not isinstance(tuples, int) or not 0 <= tuples < 2**62:
        fields.refuse("tuples", "a number of tuples")
    replace = fields.choice("mode", ("merge", "replace")) == "replace"
    return Import(request_id, fields.uid("uid"), state, _stream(fields), replace, tuples)


def decode_list(fields: Fields, request_id: str) -> ListAll:
    return ListAll(request_id, fields.text("dataset") if fields.has("dataset") else None)


def decode_describe(fields: Fields, request_id: str) -> Describe:
    return Describe(request_id, fields.uid("uid"))


def decode_snapshot(fields: Fields, request_id: str) -> Snapshot:
    return Snapshot(request_id, fields.uid("uid"), _version(fields))


def decode_restore(fields: Fields, request_id: str) -> Restore:
    new = fields.uid("as") if fields.has("as") else None
    return Restore(request_id, fields.uid("uid"), _version(fields), new)


def decode_snapshots(fields: Fields, request_id: str) -> Snapshots:
    return Snapshots(request_id, fields.uid("uid") if fields.has("uid") else None)


def decode_watch(fields: Fields, request_id: str) -> Watch:
    question = decode_ask(fields, request_id)
    when = _condition(fields)
    every = fields.duration("every") if fields.has("every") else None
    if every is not None and every < _SHORTEST_EVERY:
        fields.refuse("every", f"at least {_SHORTEST_EVERY}ms")
    if every is not None:
        if fields.has("on"):
            fields.refuse("on", "nothing beside `every`: a watch has one of the two")
        return Watch(request_id, question, every, when=when)
    if not fields.has("on") and when is None:
        fields.refuse("every", 'a duration, or "on": "change" or "close" in its place')
    on = fields.choice("on", (ON_CHANGE, ON_CLOSE))
    threshold, relative = _threshold(fields) if on == ON_CHANGE else (0.0, False)
    each = fields.choice("each", ("", EACH_KEY, EACH_STREAM))
    if each and (on != ON_CHANGE or threshold or when):
        fields.refuse("each", 'only "on": "change" beside it, without threshold or condition')
    return Watch(request_id, question, None, on, threshold, relative, when, each)


def decode_unwatch(fields: Fields, request_id: str) -> Unwatch:
    return Unwatch(request_id, fields.text("watch"))


def decode_plugin(fields: Fields, request_id: str) -> Plugin:
    source = fields.any("source")
    if not isinstance(source, str) or not 0 < len(source) <= LARGEST_SOURCE:
        fields.refuse("source", f"Python source of at most {LARGEST_SOURCE} characters")
    sha256 = fields.text("sha256")
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        fields.refuse("sha256", "64 hexadecimal digits")
    key = _base64(fields, "key", "an Ed25519 public key in base64")
    signature = _base64(fields, "signature", "an Ed25519 signature in base64")
    return Plugin(request_id, _plugin_name(fields), source, sha256, key, signature)


def decode_plugins(fields: Fields, request_id: str) -> Plugins:
    return Plugins(request_id)


def decode_unplug(fields: Fields, request_id: str) -> Unplug:
    version = fields.moment("version") if fields.has("version") else None
    return Unplug(request_id, _plugin_name(fields), version)


def _plugin_name(fields: Fields) -> str:
    name = fields.text("name")
    if not NAME_FORM.fullmatch(name):
        fields.refuse("name", "a small letter, then small letters, digits, underscores: at most 50")
    return name


def _base64(fields: Fields, name: str, expected: str) -> bytes:
    try:
        return base64.b64decode(fields.any(name) or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        fields.refuse(name, expected)


def _stream(fields: Fields) -> str | None:
    return fields.text("stream") if fields.has("stream") else None


def _version(fields: Fields) -> str | None:
    if not fields.has("version"):
        return None
    version = fields.uid("version")
    if not VERSION_FORM.fullmatch(version):
        fields.refuse("version", "letters, digits, dots, dashes and underscores, at most 100")
    return version


def _span(fields: Fields) -> Span | None:
    """`end`: the window that ended there; `from` and `to`: all panes in between."""
    if fields.has("end"):
        return Span(_moment(fields, "end"))
    if not fields.has("from") and not fields.has("to"):
        return None
    start, end = _moment(fields, "from"), _moment(fields, "to")
    if start >= end:
        fields.refuse("to", "a time after `from`")
    return Span(end, start)


def _moment(fields: Fields, name: str) -> int:
    """Milliseconds since the epoch, or ISO 8601."""
    value = fields.any(name)
    try:
        if isinstance(value, str):
            moment = datetime.datetime.fromisoformat(value)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=datetime.UTC)
            return round(moment.timestamp() * 1000)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
            return value
    except (ValueError, OverflowError):
        pass
    fields.refuse(name, "milliseconds since the epoch or an ISO 8601 time")


def _threshold(fields: Fields) -> tuple[float, bool]:
    """`"threshold": 5` is absolute, `"5%"` relative; none: any change."""
    value = fields.any("threshold")
    relative = isinstance(value, str) and value.strip().endswith("%")
    try:
        number = float(value.strip()[:-1]) / 100 if relative else float(value or 0)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf or isinstance(value, bool):
        fields.refuse("threshold", 'a number of at least 0, or a share such as "5%"')
    return number, relative


def _condition(fields: Fields) -> tuple[str, float] | None:
    if not fields.has("when"):
        return None
    value = fields.any("when")
    match = _CONDITION.fullmatch(value) if isinstance(value, str) else None
    try:
        number = float(match[2]) if match else math.nan
    except ValueError:
        number = math.nan
    if match is None or not math.isfinite(number):
        fields.refuse("when", 'a condition such as ">= 1000"')
    return match[1], number


_DECODERS: dict[str, Callable[[Fields, str], Request]] = {
    Create.op: decode_create,
    Ask.op: decode_ask,
    Watch.op: decode_watch,
    Unwatch.op: decode_unwatch,
    Export.op: decode_export,
    Import.op: decode_import,
    Delete.op: decode_delete,
    ListAll.op: decode_list,
    Describe.op: decode_describe,
    Snapshot.op: decode_snapshot,
    Restore.op: decode_restore,
    Snapshots.op: decode_snapshots,
    Plugin.op: decode_plugin,
    Plugins.op: decode_plugins,
    Unplug.op: decode_unplug,
    Sites.op: lambda fields, request_id: Sites(request_id),
}
OPS = tuple(_DECODERS)


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
