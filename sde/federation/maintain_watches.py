"""Watches over several sites at one shard: what it says when they are due.

Every site asks itself, on its own ticks; a peer then sends what changed to the site that asked.
"""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass, replace
from typing import Any

from sde.federation.maintain import ledger_of
from sde.records.arrived import Arrived
from sde.records.partial import Partial
from sde.registry.watches import Watching
from sde.requests.answering import say
from sde.requests.watching import Watcher
from sde.shard.shard import Shard
from sde.wire import Watch


@dataclass(frozen=True, slots=True)
class Standing:
    """What makes a watch one over several sites; rests beside it in the registry."""

    key: str
    by: str  # the site that asked
    sites: tuple[str, ...]
    drift: float | None = None

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(site for site in self.sites if site != self.by)


def standing_of(watching: Watching) -> Standing:
    assert watching.standing is not None
    return Standing(**{**watching.standing, "sites": tuple(watching.standing["sites"])})


def answers(shard: Shard, watcher: Watcher, watches: list[str], batch: int) -> list[Partial]:
    """Partials for those of the watches that are over several sites."""
    running = shard.registry.watches
    found = (running.get(w) for w in dict.fromkeys(watches) if w in running)
    return [
        _partial(shard, watcher, watching, request, batch)
        for watching, request in found
        if watching.standing is not None
    ]


def _partial(
    shard: Shard, watcher: Watcher, watching: Watching, request: Watch, batch: int
) -> Partial:
    moment = watcher.moment([(watching, request)])
    arrived = Arrived(f"standing {watching.id}", shard.registry.time, None)
    head, parts = say(shard, request.question, replace(arrived, at=moment, federated={}))
    head = {**head, "standing": watching.as_json(), "own": len(parts)}
    if shard.number == 0:
        told, kept = _account(shard, standing_of(watching).key)
        head["account"], parts = told, [*parts, *kept]
    return Partial(arrived, shard.number, shard.of, batch, head, parts)


def _account(shard: Shard, key: str) -> tuple[dict[str, Any], list[bytes]]:
    """What the ledger holds, as JSON and states: those of other sites, then what was sent."""
    account = ledger_of(shard).account(key)
    told = {
        "held": [
            {**asdict(held), "site": site, "parts": len(held.parts)}
            for site, held in account.held.items()
        ],
        "gaps": account.gaps,
        "number": account.number,
        "norm": account.norm,
    }
    texts = [part for held in account.held.values() for part in held.parts] + account.sent
    return told, [base64.b64decode(text) for text in texts]
