"""What one shard says to a request that reads."""

from __future__ import annotations

import msgspec

from sde.records.asked import Asked
from sde.records.result import (
    Done,
    Figures,
    PluginInfo,
    PluginList,
    Refused,
    Result,
    VersionList,
)
from sde.requests.boundary import fault_of
from sde.requests.describing import describe, figures
from sde.requests.questions import ask, export
from sde.requests.source_list import list_sources
from sde.requests.tables import ask_streams, list_streams
from sde.requests.watch_list import list_watches
from sde.shard.shard import Shard
from sde.wire import (
    ALL_STREAMS,
    Ask,
    Describe,
    Export,
    ListAll,
    Plugins,
    Sites,
    Snapshots,
    Streams,
    Watches,
)
from sde.wire.requests import Read
from sde.wire.sources import Preview, Sources
from synopses.declaration import declaration


def answer(shard: Shard, request: Read, asked: Asked) -> Result:
    """Answer a request at one shard. Whatever is wrong with it becomes a fault."""
    try:
        return _answer(shard, request, asked)
    except Exception as error:
        return Refused(fault_of(error, request, lambda f: shard.quarantine(f).fault))


def _answer(shard: Shard, request: Read, asked: Asked) -> Result:
    match request:
        case Ask(stream=stream) if stream == ALL_STREAMS and _is_native(asked):
            return ask_streams(shard, request, asked.at)
        case Streams():
            return list_streams(shard, request)
        case Watches():
            return list_watches(shard, request)
        case Ask():
            return ask(shard, request, asked.at, asked.role is not None, repeatable=True)
        case Export():
            return export(shard, request, asked.at)
        case ListAll():
            return _page(shard, request)
        case Describe():
            return describe(shard, request)
        case Plugins():
            return PluginList(_plugins(shard) if shard.number == 0 else [])
        case Sites():
            return Done()
        case Snapshots():
            if asked.attached.fault is not None:
                return Refused(asked.attached.fault)
            return VersionList(asked.attached.versions if shard.number == 0 else [])
        case Sources():
            return list_sources(shard, asked.attached.topics)
        case Preview():
            if asked.attached.fault is not None:
                return Refused(asked.attached.fault)
            return Done(value=asked.attached.preview)


def _is_native(asked: Asked) -> bool:
    """Whether a client of this site said it in our words: for others "*" is a name like any."""
    return asked.role is None and asked.infore is None


def _page(shard: Shard, request: ListAll) -> Figures:
    uids = shard.registry.uids(request.dataset)
    if request.limit is None:
        return figures(shard, uids)
    behind = sorted(uid for uid in uids if request.after is None or uid > request.after)
    page = behind[: request.limit]
    listed = figures(shard, {uid: uids[uid] for uid in page})
    is_last = len(page) == len(behind)
    return listed if is_last else msgspec.structs.replace(listed, next=page[-1])


def _plugins(shard: Shard) -> list[PluginInfo]:
    registry = shard.registry
    return [
        msgspec.convert(
            {
                **registry.shelf.told(version),
                "synopses": len(registry.users_of(version.kind)),
                "declared": declaration(registry.shelf[version.kind]),
            },
            PluginInfo,
        )
        for version in registry.shelf.versions.values()
    ]
