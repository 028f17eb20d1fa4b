"""The watches that run, as `watches` lists them."""

from __future__ import annotations

from msgspec.structs import replace

from sde.records.result import WatchList
from sde.records.watching import Watching
from sde.shard.shard import Shard
from sde.wire import ON_CLOSE, ReplyFields, Watches, message_of


def list_watches(shard: Shard, request: Watches) -> WatchList:
    """A page of them, from shard 0: all shards know the same."""
    if request.uid is not None:
        shard.registry.instance(request.uid)  # a misspelt uid is refused
    if shard.number != 0:
        return WatchList()
    behind = sorted(
        watching.id
        for watching in shard.registry.watches
        if (request.after is None or watching.id > request.after)
        and _is_about(shard, watching, request)
    )
    page = behind[: request.most]
    known = shard.registry.watches
    return WatchList(
        watches=[replace(known.get(watch), last=None, infore=None) for watch in page],
        next="" if len(page) == len(behind) else page[-1],
    )


def _is_about(shard: Shard, watching: Watching, request: Watches) -> bool:
    uids = watching.request.uids
    if request.uid is not None and request.uid not in uids:
        return False
    if request.dataset is None:
        return True
    return any(shard.registry.instance(u).definition.dataset == request.dataset for u in uids)


def shown(watching: Watching) -> ReplyFields:
    """What the reply says of a watch: the fields that began it, and how far it has got."""
    request, standing = watching.request, watching.standing
    said = message_of(request)
    for name in ("op", "id", "uid"):
        said.pop(name, None)
    fields = {"watch": watching.id, **said, "uids": list(request.uids), "since": watching.since}
    if request.occasion:
        fields["on"] = request.occasion
    if standing is not None:
        fields |= {"sites": list(standing.sites), "by": standing.by}
        if standing.drift is not None:
            fields["drift"] = standing.drift
    if _is_counted(watching):
        fields["number"] = watching.number
    known = {"due": watching.due, "holds": watching.holds}
    return {**fields, **{name: value for name, value in known.items() if value is not None}}


def _is_counted(watching: Watching) -> bool:
    """Whether the last number is known: where no window or batch gives the numbers."""
    request = watching.request
    return not request.each and (request.occasion != ON_CLOSE or request.when is not None)
