"""Requests of this site that wait for contributions, until all came or their time is up.

They rest in the state of shard 0 as facts: a crash loses nothing and counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from sde.records.asked import Asked
from sde.records.codec import as_fact
from sde.records.sites import Asking, SiteContribution, Traffic
from sde.records.upgrade import contribution_of, waiting_of
from sde.storage.facts import Fact, Factual


@dataclass(slots=True)
class Waiting:
    """A request, and what came for it so far."""

    asked: Asked
    asking: Asking
    due: int
    contributions: dict[str, SiteContribution] = field(default_factory=dict)  # by site


class PendingRequests(Factual):
    """Also counts the traffic with each site."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[str, Waiting] = {}  # by key
        self.traffic: dict[str, Traffic] = {}  # by site
        self.done: list[Waiting] = []  # to be answered; emptied by who answers

    # -- facts ------------------------------------------------------------------------------------

    def facts(self) -> Iterator[Fact]:
        for site, traffic in self.traffic.items():
            yield ["traffic", site, as_fact(traffic)]
        for waiting in self._waiting.values():
            yield ["open", as_fact(waiting.asked), waiting.due]
            for contribution in waiting.contributions.values():
                yield ["take", as_fact(contribution)]

    def handlers(self) -> Mapping[str, Callable[..., None]]:
        return {
            "traffic": self._on_traffic,
            "open": self._on_open,
            "take": self._on_take,
            "close": self._on_close,
        }

    def _on_traffic(self, site: str, counts: dict[str, int]) -> None:
        self.traffic[site] = msgspec.convert(counts, Traffic)

    def _on_open(self, record: dict[str, Any], due: int) -> None:
        asked = waiting_of(record)
        assert isinstance(asked, Asked)
        assert isinstance(asked.role, Asking)
        self._waiting[asked.role.key] = Waiting(asked, asked.role, due)

    def _on_take(self, record: dict[str, Any]) -> None:
        contribution = contribution_of(record)
        self._waiting[contribution.key].contributions[contribution.site] = contribution

    def _on_close(self, key: str) -> None:
        del self._waiting[key]

    # -- what happens -----------------------------------------------------------------------------

    def open(self, asked: Asked, asking: Asking, due: int) -> None:
        if asking.key not in self._waiting:
            self._change("open", as_fact(asked), due)

    def take(self, contribution: SiteContribution) -> None:
        """Put it to its request; when all have come that one is done."""
        site, size, sent = contribution.site, contribution.size, contribution.head.received or 0
        waiting = self._waiting.get(contribution.key)
        if waiting is None or site not in waiting.asking.sites:
            self.count(site, received=size, late=1, sent=sent)
        elif site in waiting.contributions:
            self.count(site, received=size, repeated=1, sent=sent)
        else:
            self.count(site, received=size, sent=sent)
            self._change("take", as_fact(contribution))
            if len(waiting.contributions) == len(waiting.asking.sites):
                self._finish(contribution.key)

    def on_tick(self, time: int) -> None:
        for key in [key for key, waiting in self._waiting.items() if waiting.due <= time]:
            self._finish(key)

    def _finish(self, key: str) -> None:
        self.done.append(self._waiting[key])
        self._change("close", key)

    def count(
        self,
        site: str,
        received: int = 0,
        sent: int = 0,
        late: int = 0,
        repeated: int = 0,
        refused: int = 0,
    ) -> None:
        before = self.traffic.get(site, Traffic())
        now = replace(
            before,
            received=before.received + received,
            sent=max(before.sent, sent),
            late=before.late + late,
            repeated=before.repeated + repeated,
            refused=before.refused + refused,
        )
        self._change("traffic", site, as_fact(now))

    def next_due(self) -> int | None:
        return min((waiting.due for waiting in self._waiting.values()), default=None)
