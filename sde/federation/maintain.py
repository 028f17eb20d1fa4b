"""Maintain's hand at the desk: what a shard does about requests of several sites.

Only shard 0 has a desk. What it changes there follows from what arrived alone, so that a replay of
the log does the same.
"""

from __future__ import annotations

import base64
from dataclasses import asdict, replace
from typing import Any

from sde.federation.pending import Contribution, Desk, Waiting
from sde.federation.request import asked_of, wanted_of
from sde.federation.watch_state import Ledger
from sde.records.arrived import Arrived
from sde.records.partial import Partial
from sde.shard.shard import Shard
from sde.storage.facts import Factual
from sde.wire.fields import LONGEST_NAME

OTHERS = "others"  # whom frames are counted under that name no site we know


def beside(number: int) -> dict[str, Factual]:
    """What a shard keeps for requests of several sites."""
    return {"desk": Desk(), "ledger": Ledger()} if number == 0 else {}


def desk_of(shard: Shard) -> Desk:
    desk = shard.beside["desk"]
    assert isinstance(desk, Desk)
    return desk


def ledger_of(shard: Shard) -> Ledger:
    ledger = shard.beside["ledger"]
    assert isinstance(ledger, Ledger)
    return ledger


def contributes(arrived: Arrived) -> bool:
    """Whether a request is to be carried out here: this site may only be the one that asks."""
    asked = asked_of(arrived.federated)
    return asked is None or asked.own


def note(shard: Shard, arrived: Arrived) -> bool:
    """Change the desk as `arrived` asks for; whether it did, and the log must keep it."""
    federated = arrived.federated
    if federated is None or shard.number != 0:
        return False
    asked, wanted = asked_of(federated), wanted_of(federated)
    if asked is not None:
        if arrived.at is not None and not asked.again:
            return False  # its own shards are asked once more: it waits already
        due = max(arrived.time, shard.registry.time) + asked.deadline
        desk_of(shard).open(arrived.as_json(), asked, due)
        _begin(shard, arrived)
    elif wanted is not None:
        desk_of(shard).count(wanted.by, received=wanted.size)
        _begin(shard, arrived)
    elif "contribution" in federated:
        given = Contribution(**federated["contribution"])
        if given.head.get("standing") is True:
            _keep(shard, given)
        else:
            desk_of(shard).take(given)
    elif "told" in federated:
        _hear(shard, **federated["told"])
    elif "own" in federated:
        _remember(shard, federated["own"])
    elif "stray" in federated:
        desk_of(shard).count(federated["stray"], refused=1)
    return True


# -- watches over several sites -------------------------------------------------------------------


def _begin(shard: Shard, arrived: Arrived) -> None:
    standing = (arrived.attached or {}).get("standing")
    if standing is not None:
        ledger_of(shard).begin(standing["key"])


def _keep(shard: Shard, given: Contribution) -> None:
    """A site's new state; of a watch that has ended here it comes too late."""
    if given.key not in ledger_of(shard):
        over = "fault" in given.head
        desk_of(shard).count(given.site, received=given.size, late=int(not over))
        if not over:
            watch = str(given.head.get("watch"))[:LONGEST_NAME]
            ledger_of(shard).orphans.append({"site": given.site, "key": given.key, "watch": watch})
    else:
        taken = ledger_of(shard).take(given, shard.registry.time)
        desk_of(shard).count(given.site, received=given.size, repeated=int(not taken))


def _hear(shard: Shard, key: str, by: str, size: int, whole: bool, norm: float | None) -> None:
    desk_of(shard).count(by, received=size)
    if key in ledger_of(shard):
        if whole:
            ledger_of(shard).forget_sent(key)
        if norm is not None:
            ledger_of(shard).agree(key, norm)


def _remember(shard: Shard, own: dict[str, Any]) -> None:
    """What this site's merge said to the others."""
    if own["key"] in ledger_of(shard):
        if "sent" in own:
            ledger_of(shard).sent(own["key"], own["sent"], own["parts"])
        if "norm" in own:
            ledger_of(shard).agree(own["key"], own["norm"])


def close_ended(shard: Shard) -> None:
    """Watches that have ended need no account any more."""
    if shard.number == 0:
        for watching in shard.registry.watches.ended:
            if watching.standing is not None:
                ledger_of(shard).end(watching.standing["key"])


# -- what is said ---------------------------------------------------------------------------------


def with_traffic(shard: Shard, arrived: Arrived, head: dict[str, Any]) -> dict[str, Any]:
    """A peer is told how many bytes came from it: so it knows what it sent."""
    wanted = wanted_of(arrived.federated)
    if wanted is None or shard.number != 0:
        return head
    return {**head, "received": desk_of(shard).traffic[wanted.by].received}


def answers(shard: Shard, batch: int) -> list[Partial]:
    """Partials for the requests that have waited long enough."""
    if shard.number != 0:
        return []
    desk, ledger = desk_of(shard), ledger_of(shard)
    done, desk.done = desk.done, []
    traffic = {site: asdict(held) for site, held in desk.traffic.items()}
    orphans, ledger.orphans = ledger.orphans, []
    return [
        *(_partial(shard, waiting, traffic, batch) for waiting in done),
        *(_orphaned(shard, orphan, batch) for orphan in orphans),
    ]


def _orphaned(shard: Shard, orphan: dict[str, str], batch: int) -> Partial:
    place = f"orphan {orphan['site']} {orphan['key']}"
    return Partial(Arrived(place, shard.registry.time, None), 0, 1, batch, {"orphan": orphan})


def forget_words(shard: Shard) -> None:
    """After a replay: what there was to say was said."""
    close_ended(shard)
    shard.registry.watches.ended.clear()
    if shard.number == 0:
        desk_of(shard).done.clear()
        ledger_of(shard).orphans.clear()


def _partial(shard: Shard, waiting: Waiting, traffic: dict[str, Any], batch: int) -> Partial:
    came = list(waiting.came.values())
    told = [{"site": c.site, "size": c.size, "head": c.head, "parts": len(c.parts)} for c in came]
    arrived = Arrived.from_json(waiting.arrived)
    return Partial(
        replace(arrived, place=f"{arrived.place}\ndesk"),
        0,
        1,
        batch,
        {"came": told, "traffic": traffic, **_plugin(shard, told)},
        [base64.b64decode(part) for c in came for part in c.parts],
    )


def _plugin(shard: Shard, came: list[dict[str, Any]]) -> dict[str, Any]:
    """The plug-in that sites told states of, if this site has it."""
    for one in came:
        about = one["head"].get("about")
        kind = about[0].get("kind") if isinstance(about, list) and about else None
        packed = shard.registry.shelf.packed(str(kind))
        if packed is not None:
            return {"plugin": packed}
    return {}
