"""Federation, in maintain: partials of watches over several sites.

Every site asks itself, on its own ticks; a peer then sends what changed to the site that asked.
"""

from __future__ import annotations

from sde.federation.maintain import watches_of
from sde.records.partial import SiteWatchStates, Subject
from sde.records.result import Refused, States
from sde.records.watching import Standing, Watching
from sde.requests.boundary import fault_of
from sde.requests.questions import ask
from sde.requests.watching import Watcher
from sde.shard.shard import Shard


def answers(
    shard: Shard, watcher: Watcher, watches: list[str], batch: int
) -> list[SiteWatchStates]:
    """Partials for those of the watches that are over several sites."""
    running = shard.registry.watches
    found = (running.get(w) for w in dict.fromkeys(watches) if w in running)
    return [
        _partial(shard, watcher, watching, watching.standing, batch)
        for watching in found
        if watching.standing is not None
    ]


def _partial(
    shard: Shard, watcher: Watcher, watching: Watching, standing: Standing, batch: int
) -> SiteWatchStates:
    result: States | Refused
    try:
        result = ask(
            shard,
            watching.request.question,
            watcher.moment(watching),
            for_sites=True,
            repeatable=True,
        )
    except Exception as error:
        result = Refused(fault_of(error, watching, lambda f: shard.quarantine(f).fault))
    return SiteWatchStates(
        subject=Subject(f"standing {watching.id}"),
        shard=shard.number,
        of=shard.of,
        batch=batch,
        time=shard.registry.time,
        watch=watching,
        result=result,
        account=watches_of(shard).account(standing.key) if shard.number == 0 else None,
    )
