"""The desk: where contributions to requests of this site wait until all came or time is up.

It rests in the state of shard 0 as facts, so that a crash loses nothing and counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from sde.federation.request import Asked, asked_of
from sde.storage.facts import Fact, Factual


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one site gives to a request; `parts` are states in base64, as they rest."""

    key: str
    site: str
    size: int  # bytes of the frame it came in
    head: dict[str, Any]
    parts: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {"contribution": asdict(self)}


@dataclass(slots=True)
class Waiting:
    """A request, `arrived` as it came, and what came for it so far."""

    arrived: dict[str, Any]
    asked: Asked
    due: int
    came: dict[str, Contribution] = field(default_factory=dict)


@dataclass(slots=True)
class Traffic:
    """With one site, since this checkpoint began."""

    received: int = 0  # bytes from it
    sent: int = 0  # bytes to it, as it says
    late: int = 0  # contributions after the reply
    repeated: int = 0
    refused: int = 0  # frames that were not from it, or damaged


class Desk(Factual):
    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[str, Waiting] = {}
        self.traffic: dict[str, Traffic] = {}
        self.done: list[Waiting] = []  # to be answered; emptied by who answers

    # -- facts ------------------------------------------------------------------------------------

    def facts(self) -> Iterator[Fact]:
        for site, traffic in self.traffic.items():
            yield ["traffic", site, asdict(traffic)]
        for waiting in self._waiting.values():
            yield ["open", waiting.arrived, waiting.due]
            for contribution in waiting.came.values():
                yield ["take", asdict(contribution)]

    def _on_traffic(self, site: str, held: dict[str, int]) -> None:
        self.traffic[site] = Traffic(**held)

    def _on_open(self, arrived: dict[str, Any], due: int) -> None:
        asked = asked_of(arrived["federated"])
        assert asked is not None
        self._waiting[asked.key] = Waiting(arrived, asked, due)

    def _on_take(self, held: dict[str, Any]) -> None:
        contribution = Contribution(**held)
        self._waiting[contribution.key].came[contribution.site] = contribution

    def _on_close(self, key: str) -> None:
        del self._waiting[key]

    # -- what happens -----------------------------------------------------------------------------

    def open(self, arrived: dict[str, Any], asked: Asked, due: int) -> None:
        if asked.key not in self._waiting:
            self._change("open", arrived, due)

    def take(self, contribution: Contribution) -> None:
        """Put it to its request; when all have come that one is done."""
        said = contribution.head.get("received")
        sent = said if isinstance(said, int) else 0
        waiting = self._waiting.get(contribution.key)
        if waiting is None or contribution.site not in waiting.asked.sites:
            self.count(contribution.site, received=contribution.size, late=1, sent=sent)
        elif contribution.site in waiting.came:
            self.count(contribution.site, received=contribution.size, repeated=1, sent=sent)
        else:
            self.count(contribution.site, received=contribution.size, sent=sent)
            self._change("take", asdict(contribution))
            if len(waiting.came) == len(waiting.asked.sites):
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
        held = self.traffic.get(site, Traffic())
        now = Traffic(
            held.received + received,
            max(held.sent, sent),
            held.late + late,
            held.repeated + repeated,
            held.refused + refused,
        )
        self._change("traffic", site, asdict(now))

    def next_due(self) -> int | None:
        return min((waiting.due for waiting in self._waiting.values()), default=None)
