"""Federation, in maintain: what shard 0 keeps of requests over several sites.

What changes there follows from what arrived alone, so that a replay of the log does the same.
"""

from __future__ import annotations

from typing import assert_never

from sde.federation.pending import PendingRequests, Waiting
from sde.federation.watch_state import SiteWatches
from sde.records.arrived import FromSite
from sde.records.asked import AnyAsked, Asked
from sde.records.partial import Partial, SiteContributions, SiteWatchUnknown, Subject
from sde.records.result import PackedPlugin
from sde.records.sites import Asking, Contributing, OwnNote, SiteContribution, SiteNote, Stray
from sde.requests.questions import packed_plugin
from sde.shard.shard import Shard
from sde.storage.facts import Factual
from sde.wire.forms import LONGEST_NAME


def beside(number: int) -> dict[str, Factual]:
    """What a shard keeps for requests of several sites, by its name in the store."""
    return {"desk": PendingRequests(), "ledger": SiteWatches()} if number == 0 else {}


def pending_of(shard: Shard) -> PendingRequests:
    pending = shard.beside["desk"]
    assert isinstance(pending, PendingRequests)
    return pending


def watches_of(shard: Shard) -> SiteWatches:
    watches = shard.beside["ledger"]
    assert isinstance(watches, SiteWatches)
    return watches


def contributes(asked: AnyAsked) -> bool:
    """Whether a request is to be carried out here: this site may only be the one that asks."""
    role = asked.role if isinstance(asked, Asked) else None
    return role.own if isinstance(role, Asking) else True


def note_request(shard: Shard, asked: AnyAsked) -> bool:
    """Keep what a request over sites needs; whether anything changed that the log must keep."""
    if shard.number != 0 or not isinstance(asked, Asked) or asked.role is None:
        return False
    match asked.role:
        case Asking() as asking:
            if asked.at is not None and not asking.again:
                return False  # its own shards are asked once more: it waits already
            due = max(asked.time, shard.registry.time) + asking.deadline
            pending_of(shard).open(asked, asking, due)
        case Contributing(by=by, size=size):
            pending_of(shard).count(by, received=size)
        case never:
            assert_never(never)
    if asked.attached.standing is not None:
        watches_of(shard).begin(asked.attached.standing.key)
    return True


def note_message(shard: Shard, arrived: FromSite) -> None:
    """Keep what a site said; for shard 0 only."""
    match arrived.message:
        case SiteContribution() as contribution:
            if contribution.head.standing:
                _keep(shard, contribution, arrived.time)
            else:
                pending_of(shard).take(contribution)
        case SiteNote(key=key, by=by, size=size, whole=whole, norm=norm, time=time):
            pending_of(shard).count(by, received=size)
            watches = watches_of(shard)
            if key in watches:
                if whole:
                    watches.forget_sent(key)
                if norm is not None:
                    watches.agree(key, norm, time)
        case OwnNote(key=key, sent=sent, parts=parts, norm=norm):
            watches = watches_of(shard)
            if key in watches:
                if sent is not None:
                    watches.sent(key, sent, parts)
                if norm is not None:
                    watches.agree(key, norm)
        case Stray(site=site, count=count):
            pending_of(shard).count(site, refused=count)
        case never:
            assert_never(never)


def _keep(shard: Shard, contribution: SiteContribution, time: int) -> None:
    """A site's new state; of a watch that has ended here it comes too late."""
    pending, watches = pending_of(shard), watches_of(shard)
    site, size = contribution.site, contribution.size
    if contribution.key not in watches:
        over = contribution.head.fault is not None
        pending.count(site, received=size, late=int(not over))
        if not over:
            watches.unknown.append((contribution, time))
    else:
        taken = watches.take(contribution, shard.registry.time)
        pending.count(site, received=size, repeated=int(not taken))


def close_ended(shard: Shard) -> None:
    """Watches that have ended need no account any more."""
    if shard.number == 0:
        for watching in shard.registry.watches.ended:
            if watching.standing is not None:
                watches_of(shard).end(watching.standing.key)


def received_from(shard: Shard, asked: AnyAsked) -> int | None:
    """How many bytes came from the peer that asks: so it learns what it sent."""
    role = asked.role if isinstance(asked, Asked) else None
    if not isinstance(role, Contributing) or shard.number != 0:
        return None
    return pending_of(shard).traffic[role.by].received


def answers(shard: Shard, batch: int) -> list[Partial]:
    """Partials for requests whose contributions have come, or whose time is up."""
    if shard.number != 0:
        return []
    pending, watches = pending_of(shard), watches_of(shard)
    done, pending.done = pending.done, []
    unknown, watches.unknown = watches.unknown, []
    return [
        *(_contributions(shard, waiting, batch) for waiting in done),
        *(_unknown(shard, contribution, batch, time) for contribution, time in unknown),
    ]


def _contributions(shard: Shard, waiting: Waiting, batch: int) -> SiteContributions:
    contributions = list(waiting.contributions.values())
    return SiteContributions(
        subject=Subject.of(waiting.asked.position, part=1),
        shard=0,
        of=1,
        batch=batch,
        time=shard.registry.time,
        asked=waiting.asked,
        contributions=contributions,
        traffic=pending_of(shard).traffic,
        plugin=_plugin(shard, contributions),
    )


def _unknown(
    shard: Shard, contribution: SiteContribution, batch: int, time: int
) -> SiteWatchUnknown:
    return SiteWatchUnknown(
        subject=Subject(f"orphan {contribution.site} {contribution.key}"),
        shard=0,
        of=1,
        batch=batch,
        time=max(time, shard.registry.time),  # the clock may have stood still
        site=contribution.site,
        key=contribution.key,
        watch=contribution.head.watch[:LONGEST_NAME],
    )


def _plugin(shard: Shard, contributions: list[SiteContribution]) -> PackedPlugin | None:
    """The plug-in that sites told states of, if this site has it."""
    for contribution in contributions:
        for info in contribution.head.about[:1]:
            packed = packed_plugin(shard, info.kind)
            if packed is not None:
                return packed
    return None


def forget_answers(shard: Shard) -> None:
    """After a replay: what there was to answer was answered."""
    close_ended(shard)
    shard.registry.watches.ended.clear()
    if shard.number == 0:
        pending_of(shard).done.clear()
        watches_of(shard).unknown.clear()
