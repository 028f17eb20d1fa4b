"""What a task needs to know of the engine to work on a shard; made in the driver, without numba."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sde.stages.wiring import Wiring


@dataclass(frozen=True)
class ShardSettings:
    wiring: Wiring
    arena: Path
    buckets: int  # of partials: tasks that merge
    compact_factor: float
    tuples: dict[str, str]  # options of the source that blocks come from
