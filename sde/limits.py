"""What the engine may hold. Going over a limit is a fault or a counted loss, never a crash."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class StateLimits:
    max_synopses: int = 100_000
    max_synopsis_bytes: int = 64 * _MIB  # of one synopsis of one stream or data set
    max_streams: int = 1_000_000  # with a synopsis of their own, for each shard and definition
    max_shard_bytes: int = 4096 * _MIB  # of all synopses of one shard
    remembered_requests: int = 10_000  # whose outcome is given again when the id comes again
