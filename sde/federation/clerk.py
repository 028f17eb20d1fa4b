"""Maintain's hand at the desk: what a shard does about requests of several sites.

Only shard 0 has a desk. What it changes there follows from what arrived alone, so that a replay of
the log does the same.
"""

from __future__ import annotations

import base64
from dataclasses import asdict, replace
from typing import Any

from sde.arrived import Arrived
from sde.federation.asked import asked_of, wanted_of
from sde.federation.desk import Contribution, Waiting
from sde.messages.fields import LONGEST_NAME
from sde.partial import Partial
from sde.shard import Shard

OTHERS = "others"  # whom frames are counted under that name no site we know


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
        shard.desk.open(arrived.as_json(), asked, due)
        _begin(shard, arrived)
    elif wanted is not None:
        shard.desk.count(wanted.by, received=wanted.size)
        _begin(shard, arrived)
    elif "contribution" in federated:
        given = Contribution(**federated["contribution"])
        if given.head.get("standing") is True:
            _keep(shard, given)
        else:
            shard.desk.take(given)
    elif "told" in federated:
        _hear(shard, **federated["told"])
    elif "own" in federated:
        _remember(shard, federated["own"])
    elif "stray" in federated:
        shard.desk.count(federated["stray"], refused=1)
    return True


# -- watches over several sites -------------------------------------------------------------------


def _begin(shard: Shard, arrived: Arrived) -> None:
    standing = (arrived.attached or {}).get("standing")
    if standing is not None:
        shard.ledger.begin(standing["key"])


def _keep(shard: Shard, given: Contribution) -> None:
    """A site's new state; of a watch that has ended here it comes too late."""
    if given.key not in shard.ledger:
        over = "fault" in given.head
        shard.desk.count(given.site, received=given.size, late=int(not over))
        if not over:
            watch = str(given.head.get("watch"))[:LONGEST_NAME]
            shard.ledger.orphans.append({"site": given.site, "key": given.key, "watch": watch})
    else:
        taken = shard.ledger.take(given, shard.registry.time)
        shard.desk.count(given.site, received=given.size, repeated=int(not taken))


def _hear(shard: Shard, key: str, by: str, size: int, whole: bool, norm: float | None) -> None:
    shard.desk.count(by, received=size)
    if key in shard.ledger:
        if whole:
            shard.ledger.forget_sent(key)
        if norm is not None:
            shard.ledger.agree(key, norm)


def _remember(shard: Shard, own: dict[str, Any]) -> None:
    """What this site's merge said to the others."""
    if own["key"] in shard.ledger:
        if "sent" in own:
            shard.ledger.sent(own["key"], own["sent"], own["parts"])
        if "norm" in own:
            shard.ledger.agree(own["key"], own["norm"])


def close_ended(shard: Shard) -> None:
    """Watches that have ended need no account any more."""
    if shard.number == 0:
        for watching in shard.registry.watches.ended:
            if watching.standing is not None:
                shard.ledger.end(watching.standing["key"])


# -- what is said ---------------------------------------------------------------------------------


def with_traffic(shard: Shard, arrived: Arrived, head: dict[str, Any]) -> dict[str, Any]:
    """A peer is told how many bytes came from it: so it knows what it sent."""
    wanted = wanted_of(arrived.federated)
    if wanted is None or shard.number != 0:
        return head
    return {**head, "received": shard.desk.traffic[wanted.by].received}


def answers(shard: Shard, batch: int) -> list[Partial]:
    """Partials for the requests that have waited long enough."""
    done, shard.desk.done = shard.desk.done, []
    traffic = {site: asdict(held) for site, held in shard.desk.traffic.items()}
    orphans, shard.ledger.orphans = shard.ledger.orphans, []
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
    shard.desk.done.clear()
    shard.ledger.orphans.clear()


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
