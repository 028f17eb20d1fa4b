"""A new version of a plug-in takes over the synopses of the one before it.

    admitted ──> every shard tries: twins beside the old synopses, with migrated states
             ──> merge decides, from all shards ──> every shard: twins take over, or go

Between the two the old synopses answer, and tuples are added to both. So a version is refused
without a trace if it fails for a single synopsis of a single shard, and nothing is lost if not.
A replay does not call `migrate`: the log has the states that came of it.
"""

from __future__ import annotations

from dataclasses import asdict

import orjson

from sde.limits import StateLimits
from sde.plugins.declaration import Declaration
from sde.plugins.failure import PluginFailure
from sde.plugins.remote import Remote
from sde.plugins.version import Made, PluginVersion, Predecessor, Succession
from sde.records.asked import Asked
from sde.records.loop import Admitted, Decided
from sde.records.result import Done, Outcome, Refused, Tried
from sde.registry.registry import Instance, Registry
from sde.requests.plugging import admit, settled, waiting_request
from sde.shard.shard import Shard
from sde.wire import Code, Fault, Plugin, Refusal
from synopses import SynopsisError

Twins = list[tuple[Instance, Instance]]


def predecessor(registry: Registry, request: Plugin) -> Predecessor | None:
    """The newest version of a plug-in that synopses are made of, if a request is to replace it."""
    shelf = registry.shelf
    versions = [v for v in shelf.versions.values() if v.name == request.name]
    used = [v for v in versions if v.kind not in shelf.tried and registry.users_of(v.kind)]
    if not request.migrate or not used:
        return None
    version = max(used, key=lambda v: v.version)
    params = {_key(i.pattern.definition.params) for i in registry.instances_of(version.kind)}
    made = [made for made in shelf.sizes_of(version.kind) if _key(made.params) in params]
    return Predecessor(version.kind, Declaration.from_json(version.declaration).format, made)


def takes_over(message: Admitted) -> bool:
    """Whether a plug-in passed its examination and is to take over synopses."""
    return message.fault is None and bool(message.successions)


def begin(
    shard: Shard, message: Admitted, *, replaying: bool = False
) -> tuple[Asked, Tried | Refused] | None:
    """Try a version beside the one before it; None if nobody waits for it.

    What the registry refuses is refused in all shards alike. What fails here and not there is told
    to merge. A replay makes the twins, and leaves their states to others.
    """
    registry = shard.registry
    waiting = waiting_request(registry, message)
    if waiting is None or any(t.request == message.request for t in registry.shelf.tried.values()):
        return None
    asked, request = waiting
    try:
        version, old, twins = _twins(registry, message, asked, request, shard.limits)
    except Refusal as refusal:
        return asked, settled(registry, message.request, Refused(refusal.fault))
    if replaying:
        shard.open_twins(twins, filled=False)
        return asked, Tried(None)
    return asked, Tried(_fill(shard, version, old, twins))


def _fill(shard: Shard, version: PluginVersion, old: Predecessor, twins: Twins) -> Fault | None:
    """Begin the twins with migrated states; if that fails why, and they get no tuples."""
    has_room = shard.has_room_for(twins)
    shard.open_twins(twins, filled=True)
    try:
        if not has_room:
            raise PluginFailure(version.kind, "there is no room for its synopses beside the old")
        _migrate(shard, version, old, twins)
    except (PluginFailure, SynopsisError) as error:
        reason = error.reason if isinstance(error, PluginFailure) else str(error)
        shard.quarantine(PluginFailure(version.kind, reason))
        message = f"{version.kind} cannot take over {old.kind}: {reason}"
        return Fault(Code.BROKEN_LAW, message, "source")
    return None


def _twins(
    registry: Registry, message: Admitted, asked: Asked, request: Plugin, limits: StateLimits
) -> tuple[PluginVersion, Predecessor, Twins]:
    """The new version, and an instance of it beside each that it shall replace."""
    old = predecessor(registry, request)
    if old is None or old.kind != message.successions[0].predecessor:
        raise Refusal(
            Code.IN_USE, f"synopses of {request.name} came and went meanwhile: add it again"
        )
    if any(registry.shelf.versions[kind].name == request.name for kind in registry.shelf.tried):
        raise Refusal(Code.IN_USE, f"another version of {request.name} is tried: add it later")
    version = admit(registry, message, request, asked.time, limits)
    twins: Twins = []
    try:
        for instance, made in _planned(registry, old, message.successions):
            if made not in registry.shelf.sizes_of(version.kind):
                registry.shelve("made", version.kind, asdict(made))
            twins.append((instance, registry.beside(instance, version.kind, made.params)))
        _require_apart(twins)
    except Refusal:
        for _, twin in twins:
            registry.forget(twin.number)
        registry.shelve("withdrawn", version.kind)
        raise
    moves = [[one.number, twin.number] for one, twin in twins]
    registry.shelve("tried", version.kind, message.request, moves)
    return version, old, twins


def _planned(
    registry: Registry, old: Predecessor, successions: list[Succession]
) -> list[tuple[Instance, Made]]:
    """Each instance of the older version, with what its successor is made with."""
    made_of = {_key(succession.params): succession.made for succession in successions}
    planned = []
    for instance in registry.instances_of(old.kind):
        made = made_of.get(_key(instance.pattern.definition.params))
        if made is None:
            raise Refusal(
                Code.IN_USE,
                f"{old.kind} with other parameters was created meanwhile: add the version again",
            )
        planned.append((instance, made))
    return planned


def _require_apart(twins: Twins) -> None:
    """States of different parameters stay apart."""
    before: dict[str, str] = {}
    for one, twin in twins:
        if before.setdefault(twin.bank, one.bank) != one.bank:
            raise Refusal(
                Code.BAD_PARAMETER,
                "synopses that differ in a parameter which the new version does not have cannot "
                "be taken over together",
                "source",
            )


def _migrate(shard: Shard, version: PluginVersion, old: Predecessor, twins: Twins) -> None:
    """Fill the banks of the twins. Raises what the plug-in did."""
    migrates = Declaration.from_json(version.declaration).migrates
    made_with = {_key(made.params): made for made in old.made}
    for one, twin in {twin.bank: (one, twin) for one, twin in twins}.values():
        bank, new = shard.bank(one), shard.bank(twin)
        made = made_with[_key(one.pattern.definition.params)]
        slots, states = bank.states()
        if migrates or made.layout is None:
            template = new.template
            assert isinstance(template, Remote)
            filled = [at for at, state in enumerate(states) if state]
            migrated = template.migrated(template.params, made, [states[at] for at in filled])
            for at, state in zip(filled, migrated, strict=True):
                new.put_state(int(slots[at]), state)
        else:
            for slot, state in zip(slots.tolist(), states, strict=True):
                new.put_state(slot, state)


def conclude(shard: Shard, message: Decided) -> tuple[Asked, Outcome] | None:
    """Let the twins take over, or end them; None if nothing is tried for this request."""
    registry = shard.registry
    tried = next((t for t in registry.shelf.tried.values() if t.request == message.request), None)
    waiting = waiting_request(registry, message)
    if tried is None or waiting is None:
        return None
    if message.fault is not None:
        shard.forget([number for _, number in tried.moves])
        registry.shelve("withdrawn", tried.kind)
        return waiting[0], settled(registry, message.request, Refused(message.fault))
    # The older ones may have been deleted meanwhile.
    alive = [move for move in tried.moves if move[0] in registry.instances]
    moved = sum(len(registry.instances[one].uids) for one, _ in alive)
    shard.move(alive)
    shard.forget([number for one, number in tried.moves if (one, number) not in alive])
    registry.shelve("taken", tried.kind)
    told = registry.shelf.told(registry.shelf.versions[tried.kind])
    return waiting[0], settled(registry, message.request, Done(value={**told, "moved": moved}))


def _key(params: dict[str, object]) -> bytes:
    return orjson.dumps(params, option=orjson.OPT_SORT_KEYS)
