"""What a reply says, from the results of all shards: for `sde.stages.merge` and the read lane."""

from __future__ import annotations

import base64
from typing import Any, TypeVar, assert_never

import msgspec

from sde.records.result import (
    Done,
    Figures,
    PluginList,
    Refused,
    Result,
    States,
    Table,
    Tried,
    VersionList,
    Waits,
    WatchList,
)
from sde.requests.digests import digest_of, digest_of_streams
from sde.requests.gathered import Gathered
from sde.requests.tables import joined
from sde.requests.watch_list import shown
from sde.wire import Ask, Export, ListAll, Refusal, ReplyFields, Request, Streams

R = TypeVar("R", bound=Result)


def reply_fields(request: Request, results: list[Result]) -> ReplyFields:
    """`results` are all of one class, from the shards in their order.

    Refusal if there is no answer, WindowsDiffer if the shards mean different windows.
    """
    match results[0]:
        case States():
            return _answer(request, of_class(States, results))
        case Table():
            assert isinstance(request, Ask | Streams)
            return joined(request, of_class(Table, results))
        case Figures():
            shards = of_class(Figures, results)
            described = _described(shards)
            if not isinstance(request, ListAll):
                return {"value": described[0]}
            following = {"next": shards[0].next} if shards[0].next else {}
            return {"value": described, **following}
        case PluginList(plugins=plugins):
            return {"value": msgspec.to_builtins(plugins)}
        case VersionList(versions=versions):
            return {"value": [version.listed() for version in versions]}
        case WatchList(watches=watches, next=following):
            more = {"next": following} if following else {}
            return {"value": [shown(watching) for watching in watches], **more}
        case Done() as done:
            return done.fields()
        case Refused(fault=fault):
            raise Refusal.of(fault)
        case Waits() | Tried():
            raise AssertionError("it has no reply yet")
        case never:
            assert_never(never)


def of_class(kind: type[R], results: list[Result]) -> list[R]:
    return [result for result in results if isinstance(result, kind)]


def _answer(request: Request, states: list[States]) -> ReplyFields:
    match request:
        case Ask():
            return Gathered(states, request.span).answer(request)
        case Export():
            gathered = Gathered(states, request.span)
            gathered.require_stream(request.stream)
            fields = gathered.fields(request.stream)
            merged: Any = gathered.merged[0]
            native = request.format == "native"
            state = merged.to_bytes() if native else merged.to_datasketches()
            return {**fields, "format": request.format, "value": base64.b64encode(state).decode()}
        case _:
            raise AssertionError(f"{request.op} is not about states")


def _described(shards: list[Figures]) -> list[ReplyFields]:
    """Each definition with its figures summed over the shards."""
    described = []
    for place, synopsis in enumerate(shards[0].synopses):
        figures = [shard.figures[place] for shard in shards]
        sums = {name: sum(f[name] for f in figures) for name in figures[0]}
        described.append({**msgspec.to_builtins(synopsis), **sums, **_digest(shards)})
    return described


def _digest(shards: list[Figures]) -> ReplyFields:
    """The digest that `describe` states, where every shard gave what it is made from."""
    states = [shard.states for shard in shards if shard.states is not None]
    sums = [shard.streams for shard in shards if shard.streams is not None]
    if len(states) == len(shards):
        return {"digest": digest_of(Gathered(states, None).merged)}
    return {"digest": digest_of_streams(sums)} if len(sums) == len(shards) else {}
