"""What one shard says of synopses: definition, figures, and its part of a digest."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from sde.records.result import Described, Figures, Part
from sde.registry.registry import Instance
from sde.requests.digests import LARGEST, follows_from_tuples, streams_sum
from sde.requests.questions import heading_once, info_of
from sde.shard.shard import Shard, stream_key
from sde.wire import DATASET_SCOPE, Describe


def figures(shard: Shard, uids: dict[str, Instance]) -> Figures:
    """The figures of all; from shard 0 the definitions too, which are equal in all."""
    synopses = [_described(shard, uid, i) for uid, i in uids.items()] if shard.number == 0 else []
    return Figures(figures=shard.figures(uids.values()), synopses=synopses)


def describe(shard: Shard, request: Describe) -> Figures:
    """The figures of one synopsis, and what its digest is made from.

    Of windows there is none: which panes are still kept depends on the watermark. The answers about
    a window have one.
    """
    instance = shard.registry.instance(request.uid)
    found = figures(shard, {request.uid: instance})
    definition = instance.definition
    of_streams = definition.scope != DATASET_SCOPE
    if (
        definition.window is not None
        or definition.kind in shard.registry.shelf.reasons
        or not follows_from_tuples(type(shard.template(instance)), of_streams)
        or not (request.digest or found.figures[0]["bytes"] <= LARGEST)
    ):
        return found
    if of_streams and definition.stream is None:
        states = ((kept.stream or "", kept.state) for kept in shard.kept(instance))
        return replace(found, streams=streams_sum(states))
    head = heading_once(shard, [instance])
    if definition.stream is not None and not shard.owns(definition, definition.stream):
        return replace(found, states=head)
    held = shard.layer(instance).synopsis(stream_key(definition, definition.stream))
    parts = [Part(held.synopsis.to_bytes())] if held and held.synopsis else []
    return replace(found, states=replace(head, parts=parts))


def _described(shard: Shard, uid: str, instance: Instance) -> Described:
    registry, definition = shard.registry, instance.definition
    reason = registry.shelf.reasons.get(definition.kind)
    window = definition.window
    timed = window is not None and not window.count
    return Described(
        uid=uid,
        state="" if reason is None else "quarantined",
        reason=reason or "",
        expires=registry.expiries.get(uid),
        watermark=(
            registry.watermarks.get(definition.dataset, window.clock)
            if window is not None and timed
            else msgspec.UNSET
        ),
        **msgspec.structs.asdict(info_of(instance)),
    )
