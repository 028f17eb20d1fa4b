"""The ledger: what sites told each other for watches over several sites, in the state of shard 0.

Where the watch was asked for, it holds the last state of each other site; at the others, the state
that was sent last, so that only what changed since then need travel.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from sde.federation.pending import Contribution
from sde.storage.facts import Fact, Factual
from synopses import KINDS


@dataclass(slots=True)
class Held:
    """The last state of a site; `parts` in base64."""

    number: int
    at: int  # when it came, by the clock of this site
    size: int  # bytes it came in
    head: dict[str, Any]
    parts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Account:
    """Of one watch, by its key."""

    held: dict[str, Held] = field(default_factory=dict)  # by site
    gaps: list[str] = field(default_factory=list)  # sites whose whole state is wanted again
    number: int = 0  # of what was sent last
    sent: list[str] = field(default_factory=list)  # that state
    norm: float | None = None  # bound of the norm that sites measure their drift against


class Ledger(Factual):
    def __init__(self) -> None:
        super().__init__()
        self._accounts: dict[str, Account] = {}
        self.orphans: list[dict[str, str]] = []  # watches of others that none here knows

    # -- facts ------------------------------------------------------------------------------------

    def facts(self) -> Iterator[Fact]:
        for key, account in self._accounts.items():
            for site, held in account.held.items():
                yield ["held", key, site, asdict(held)]
            for site in account.gaps:
                yield ["gap", key, site]
            yield ["sent", key, account.number, account.sent]  # also says that there is one
            yield ["norm", key, account.norm]

    def _on_held(self, key: str, site: str, held: dict[str, Any]) -> None:
        account = self.account(key)
        account.held[site] = Held(**held)
        account.gaps = [one for one in account.gaps if one != site]

    def _on_gap(self, key: str, site: str) -> None:
        account = self.account(key)
        account.gaps = sorted({*account.gaps, site})

    def _on_sent(self, key: str, number: int, parts: list[str]) -> None:
        account = self.account(key)
        account.number, account.sent = number, parts

    def _on_norm(self, key: str, norm: float | None) -> None:
        self.account(key).norm = norm

    def _on_end(self, key: str) -> None:
        self._accounts.pop(key, None)

    # -- what happens -----------------------------------------------------------------------------

    def __contains__(self, key: str) -> bool:
        return key in self._accounts

    def begin(self, key: str) -> None:
        if key not in self._accounts:
            self._change("sent", key, 0, [])

    def account(self, key: str) -> Account:
        return self._accounts.setdefault(key, Account())

    def take(self, given: Contribution, at: int) -> bool:
        """Keep a site's new state, whole or as what changed; False if it was known already."""
        head = given.head
        number, base = head.get("number"), head.get("base")
        if not isinstance(number, int) or not isinstance(base, int):
            return False
        known = self.account(given.key).held.get(given.site)
        if known is not None and number <= known.number:
            return False
        if base == 0:
            parts = given.parts
        elif known is None or base != known.number:
            self._change("gap", given.key, given.site)
            return True
        else:
            try:
                parts = _added(head["about"][0]["kind"], known.parts, given.parts)
            except Exception:  # whatever is wrong with states from outside
                self._change("gap", given.key, given.site)
                return True
        held = Held(number, at, given.size, head, parts)
        self._change("held", given.key, given.site, asdict(held))
        return True

    def sent(self, key: str, number: int, parts: list[str]) -> None:
        self._change("sent", key, number, parts)

    def forget_sent(self, key: str) -> None:
        """The other side lost its thread: the next state goes whole."""
        self._change("sent", key, self.account(key).number, [])

    def agree(self, key: str, norm: float) -> None:
        self._change("norm", key, norm)

    def end(self, key: str) -> None:
        if key in self._accounts:
            self._change("end", key)


def _added(kind: str, known: list[str], changes: list[str]) -> list[str]:
    """States of a linear kind with what changed added to them."""
    summed = []
    for old, new in zip(known, changes, strict=True):
        state = KINDS[kind].from_bytes(base64.b64decode(old))
        state.merge(KINDS[kind].from_bytes(base64.b64decode(new)))
        summed.append(base64.b64encode(state.to_bytes()).decode())
    return summed
