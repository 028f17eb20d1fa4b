"""Whether all shards have said what they have: an incomplete set is never answered."""

from __future__ import annotations

from collections.abc import Sequence

from sde.records.partial import Reply, SiteWatchStates
from sde.records.result import Refused, Result
from sde.wire import Code, Refusal


def require_all(partials: Sequence[Reply | SiteWatchStates]) -> list[Result]:
    """The results of all shards in their order; Refusal if one lacks, or refuses."""
    of = partials[0].of
    if [partial.shard for partial in partials] != list(range(of)):
        raise Refusal(Code.INCOMPLETE, f"{len(partials)} of {of} shards answered; ask again")
    results: list[Result] = [partial.result for partial in partials]
    require_none_refused(results)
    return results


def require_none_refused(results: Sequence[Result]) -> None:
    for result in results:
        if isinstance(result, Refused):
            raise Refusal.of(result.fault)
