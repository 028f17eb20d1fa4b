"""merge: all partials of a request become its one reply.

    partials of one request, from every shard ──> Merge ──> reply

States are merged, then asked; estimates are never added up. A set that lacks a shard's partial
is refused with a fault instead of being answered wrongly.
"""

from __future__ import annotations

import base64
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from sde.answering import internal
from sde.messages import (
    Ask,
    Code,
    Describe,
    Export,
    Fault,
    ListAll,
    Refusal,
    Request,
    answer,
    decode_request,
    refusal,
    unreadable,
)
from sde.partial import Partial, join_streams, unpack_streams
from synopses import KINDS, Estimate, QueryError, Synopsis

_log = logging.getLogger(__name__)

_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


@dataclass(frozen=True, slots=True)
class Reply:
    """A message for the output topic; the key is the uid."""

    key: str
    value: bytes


class Merge:
    def __init__(self, site: str) -> None:
        self._site = site

    def on_partials(self, partials: Iterable[Partial]) -> Iterator[Reply]:
        """The replies to all requests in a set of partials, in the order of their places."""
        by_place: dict[str, list[Partial]] = defaultdict(list)
        for partial in partials:
            by_place[partial.arrived.place].append(partial)
        for same in sorted(by_place.values(), key=lambda p: p[0].arrived.position):
            yield self._reply(sorted(same, key=lambda p: p.shard))

    def _reply(self, partials: list[Partial]) -> Reply:
        first = partials[0]
        arrived = first.arrived
        try:
            if arrived.fault is not None:
                raise Refusal(arrived.fault.code, arrived.fault.message, arrived.fault.field)
            assert arrived.message is not None
            request = decode_request(arrived.message, arrived.place)
        except Refusal as refused:
            return self._unreadable(first, refused.fault)
        try:
            fields = self._fields(request, partials)
        except Refusal as refused:
            reply = refusal(request, refused.fault, first.batch, self._site)
        except Exception as error:  # a defect in a kind must not stop every other answer
            _log.exception("no answer to %r", request)
            reply = refusal(request, internal(error), first.batch, self._site)
        else:
            reply = answer(request, first.batch, self._site, **fields)
        uid = getattr(request, "uid", None) or ",".join(getattr(request, "uids", ()))
        return Reply(uid, orjson.dumps({"uid": uid or None, **reply}, option=_JSON))

    def _unreadable(self, first: Partial, fault: Fault) -> Reply:
        """Something that is no request still gets a reply, under its id if it has one."""
        given = (first.arrived.message or {}).get("id")
        name = given if isinstance(given, str) and given else first.arrived.place
        return Reply("", orjson.dumps(unreadable(name, fault, first.batch, self._site)))

    def _fields(self, request: Request, partials: list[Partial]) -> dict[str, Any]:
        first = partials[0]
        if [p.shard for p in partials] != list(range(first.of)):
            raise Refusal(
                Code.INCOMPLETE, f"{len(partials)} of {first.of} shards answered; ask again"
            )
        for partial in partials:
            if "fault" in partial.head:
                fault = partial.head["fault"]
                raise Refusal(Code(fault["code"]), fault["message"], fault["field"])
        match request:
            case Ask():
                return self._estimate(request, partials)
            case Export():
                return self._export(request, partials)
            case ListAll():
                return {"value": _with_figures(partials)}
            case Describe():
                return {"value": _with_figures(partials)[0]}
            case _:
                return dict(first.head["ok"])

    def _estimate(self, request: Ask, partials: list[Partial]) -> dict[str, Any]:
        about = partials[0].head["about"]
        kind = KINDS[about[0]["kind"]]
        try:
            estimate = _estimate(request, partials, kind, about)
        except QueryError as error:
            raise Refusal(Code.BAD_QUERY, str(error), error.name) from None
        return {
            **_about(request, partials),
            **{name: value for name, value in estimate.items() if value not in (None, {})},
            "value": estimate["value"],
        }

    def _export(self, request: Export, partials: list[Partial]) -> dict[str, Any]:
        about = partials[0].head["about"]
        _require_stream(request, partials)
        merged: Any = _merged(partials, 0, KINDS[about[0]["kind"]], about[0])
        state = merged.to_bytes() if request.format == "native" else merged.to_datasketches()
        return {
            **_about(request, partials),
            "format": request.format,
            "value": base64.b64encode(state).decode(),
        }


def _about(request: Ask | Export, partials: list[Partial]) -> dict[str, Any]:
    """What a reply says of the synopses it is about."""
    about = partials[0].head["about"]
    return {
        "dataset": about[0]["dataset"],
        "kind": about[0]["kind"],
        **({"stream": request.stream} if request.stream is not None else {}),
        "tuples": sum(t for p in partials for t in p.head["tuples"] if t is not None),
        "since": min(one["since"] for one in about),
    }


def _require_stream(request: Ask | Export, partials: list[Partial]) -> None:
    if request.stream is not None and all(t is None for p in partials for t in p.head["tuples"]):
        raise Refusal(
            Code.UNKNOWN_STREAM,
            f"stream={request.stream[:80]!r}: no tuple of this stream has come yet",
            "stream",
        )


def _estimate(
    request: Ask, partials: list[Partial], kind: type[Synopsis], about: list[dict[str, Any]]
) -> dict[str, Any]:
    for partial in partials:
        if "estimate" in partial.head:
            return dict(partial.head["estimate"])
    question, arguments = kind.check_query(request.query, len(about) - 1)
    if question.across:
        streams = join_streams([unpack_streams(p.parts[0]) for p in partials])
        template = kind(**about[0]["params"])
        found: Estimate = getattr(template, question.name)(streams, **arguments)
        return asdict(found)
    _require_stream(request, partials)
    merged = [_merged(partials, which, kind, one) for which, one in enumerate(about)]
    return asdict(merged[0].estimate(request.query, *merged[1:]))


def _merged(
    partials: list[Partial], which: int, kind: type[Synopsis], about: dict[str, Any]
) -> Synopsis:
    """One synopsis out of its parts in all shards; empty if no shard has any."""
    merged: Synopsis | None = None
    for partial in partials:
        if partial.parts and partial.parts[which]:
            part = kind.from_bytes(partial.parts[which])
            if merged is None:
                merged = part
            else:
                merged.merge(part)
    return merged if merged is not None else kind(**about["params"])


def _with_figures(partials: list[Partial]) -> list[dict[str, Any]]:
    """Each definition with its figures summed over the shards."""
    described = []
    for place, definition in enumerate(partials[0].head["synopses"]):
        figures = [p.head["figures"][place] for p in partials]
        sums = {name: sum(f[name] for f in figures) for name in figures[0]}
        described.append({**definition, **sums})
    return described
