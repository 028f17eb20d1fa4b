"""What sites told each other for watches over several sites, in the state of shard 0.

Where the watch was asked for, it holds the last state of each other site; at the others, the state
that was sent last, so that only what changed since then need travel.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from sde.records.codec import as_fact
from sde.records.sites import Account, SiteContribution, SiteState
from sde.storage.facts import Fact, Factual
from synopses import KINDS


class SiteWatches(Factual):
    """The accounts of watches over sites, by their keys."""

    def __init__(self) -> None:
        super().__init__()
        self._accounts: dict[str, Account] = {}
        self.unknown: list[tuple[SiteContribution, int]] = []  # to no watch here, and when

    # -- facts ------------------------------------------------------------------------------------

    def facts(self) -> Iterator[Fact]:
        for key, account in self._accounts.items():
            for site, state in account.states.items():
                yield ["held", key, site, as_fact(state)]
            for site in account.gaps:
                yield ["gap", key, site]
            yield ["sent", key, account.number, account.sent]  # also says that there is one
            yield ["norm", key, account.norm, account.agreed]

    def handlers(self) -> Mapping[str, Callable[..., None]]:
        return {
            "held": self._on_held,
            "gap": self._on_gap,
            "sent": self._on_sent,
            "norm": self._on_norm,
            "end": self._on_end,
        }

    def _on_held(self, key: str, site: str, record: dict[str, Any]) -> None:
        account = self.account(key)
        account.states[site] = msgspec.convert(record, SiteState)
        account.gaps = [one for one in account.gaps if one != site]

    def _on_gap(self, key: str, site: str) -> None:
        account = self.account(key)
        account.gaps = sorted({*account.gaps, site})

    def _on_sent(self, key: str, number: int, parts: list[str]) -> None:
        account = self.account(key)
        account.number, account.sent = number, parts

    def _on_norm(self, key: str, norm: float | None, agreed: int = 0) -> None:
        account = self.account(key)
        account.norm, account.agreed = norm, agreed

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

    def take(self, contribution: SiteContribution, at: int) -> bool:
        """Keep a site's new state, whole or as what changed; False if it was known already."""
        head, key, site = contribution.head, contribution.key, contribution.site
        known = self.account(key).states.get(site)
        number, base = head.number, head.base
        if number is None or base is None or (known is not None and number <= known.number):
            return False
        if base == 0:
            parts = contribution.parts
        elif known is None or base != known.number:
            self._change("gap", key, site)
            return True
        else:
            try:
                parts = _added(head.about[0].kind, known.parts, contribution.parts)
            except Exception:  # whatever is wrong with states from outside
                self._change("gap", key, site)
                return True
        state = SiteState(number, at, contribution.size, head, parts)
        self._change("held", key, site, as_fact(state))
        return True

    def sent(self, key: str, number: int, parts: list[str]) -> None:
        self._change("sent", key, number, parts)

    def forget_sent(self, key: str) -> None:
        """The other side lost its thread: the next state goes whole."""
        self._change("sent", key, self.account(key).number, [])

    def agree(self, key: str, norm: float, at: int = 0) -> None:
        """`at`: when another site said so; a copy of what it said before changes nothing."""
        if at >= self.account(key).agreed:
            self._change("norm", key, norm, at)

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
