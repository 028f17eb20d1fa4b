"""How the stages of one engine are made: the same for Spark's tasks and for LocalEngine.

The stages are imported where they are made: the driver, and Spark's processes that only plan,
handle the wiring too, and need no numba.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import msgspec

from sde.limits import StateLimits
from sde.plugins.trust import Trust
from sde.records.seal import LoopSeal

if TYPE_CHECKING:
    from sde.decoding.schemas import Schemas
    from sde.federation.peers import Peers
    from sde.shard.shard import Shard
    from sde.shard.versions import Versions
    from sde.stages.ingest import Ingest, Topics
    from sde.stages.maintain import Maintain
    from sde.stages.merge import Merge


@dataclass(frozen=True, slots=True)
class Wiring:
    """`seal`: of the loop; `snapshots`: a folder or URI ("": none); `secrets` by peer."""

    shards: int
    site: str = "main"
    seal: LoopSeal = field(default_factory=LoopSeal.new, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    snapshots: str = ""
    has_log: bool = False  # a topic for INFORE's log
    limits: StateLimits = StateLimits()  # noqa: RUF009
    trust: Trust = Trust()  # noqa: RUF009
    own_topics: tuple[str, ...] = ()  # that no source may read
    exported: tuple[str, ...] = ()  # watches whose answers are among the figures

    def ingest(self, schemas: Schemas | None = None, topics: Topics | None = None) -> Ingest:
        """`schemas` looks up those of records, `topics` the topics of others; both ask others."""
        from sde.decoding import Limits
        from sde.decoding.schemas import no_schemas
        from sde.stages.ingest import Ingest

        return Ingest(
            self.shards,
            Limits(),
            self.seal,
            self._versions,
            self._peers,
            self.trust,
            schemas or no_schemas,
            self.own_topics,
            topics,
        )

    def maintain(self, shard: Shard, batch: int) -> Maintain:
        from sde.stages.maintain import Maintain

        return Maintain(shard, batch, self._versions)

    def merge(self, batch: int) -> Merge:
        from sde.records.outgoing import LoopWriter
        from sde.stages.merge import Merge

        loop = LoopWriter(self.seal, batch)
        return Merge(self._peers, loop, self.has_log, frozenset(self.exported))

    @property
    def _peers(self) -> Peers:
        from sde.federation.peers import Peers

        return Peers(self.site, self.secrets)

    @property
    def _versions(self) -> Versions | None:
        from sde.shard.versions import Versions

        return Versions(self.snapshots) if self.snapshots else None

    def to_json(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)
