"""Sites made of the engine's stages alone, tick by tick: what travels, and what would be exact.

The stages and the frames are those of a running engine; only Spark and Kafka are left out, so that
all sites stand still while the exact value of a tick is computed.
"""

from __future__ import annotations

import json
from typing import Any

from sde.federation.frames import is_frame
from sde.shard.shard import Shard
from sde.testing import LocalEngine

START = 1_700_000_000_000


class StagedSite(LocalEngine):
    """One site with one shard, which stays open from batch to batch."""

    def __init__(self, name: str, names: tuple[str, ...]) -> None:
        secrets = {other: "-".join(sorted((name, other))) for other in names if other != name}
        super().__init__(shards=1, site=name, secrets=secrets)
        self._shard = super().shard(0)
        self.requests: list[bytes] = []

    def shard(self, number: int) -> Shard:
        return self._shard

    @property
    def busy(self) -> bool:
        return bool(self.is_busy or self.requests)

    def step(self, time: int, tuples: bytes = b"") -> list[dict[str, Any]]:
        """The replies of a batch; `tuples` are lines of JSON."""
        requests, self.requests = self.requests, []
        return self.replies(requests, [tuples] if tuples else [], time=time)


class StagedSites:
    """`bytes` went between the sites so far."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.sites = {name: StagedSite(name, names) for name in names}
        self.bytes = 0
        self.frames = 0

    def ask(self, site: str, time: int, **request: Any) -> list[dict[str, Any]]:
        self.sites[site].requests.append(json.dumps(request).encode())
        return self.settle(time)[site]

    def settle(self, time: int) -> dict[str, list[dict[str, Any]]]:
        """Batches at all sites until nothing is under way."""
        replies: dict[str, list[dict[str, Any]]] = {name: [] for name in self.sites}
        while any(site.busy for site in self.sites.values()):
            for name, site in self.sites.items():
                if site.busy:
                    replies[name] += site.step(time)
            self._forward()
        return replies

    def _forward(self) -> None:
        for site in self.sites.values():
            waiting, site.outbound = site.outbound, []
            for to, frame in waiting:
                assert is_frame(frame)
                self.bytes += len(frame)
                self.frames += 1
                self.sites[to].from_sites.append(frame)
