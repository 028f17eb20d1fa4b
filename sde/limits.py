"""What the engine may hold. Going over a limit is a fault or a counted loss, never a crash."""

from __future__ import annotations

from dataclasses import dataclass, field

_MIB = 1 << 20


def _limit(default: int, text: str) -> int:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True)
class StateLimits:
    """Of the whole engine, all shards together."""

    max_synopses: int = _limit(100_000, "uids in use")
    max_synopsis_bytes: int = _limit(64 * _MIB, "one synopsis of one stream or data set")
    max_dataset_bytes: int = _limit(16_384 * _MIB, "all synopses of one data set")
    max_bytes: int = _limit(16_384 * _MIB, "all synopses")
    max_streams: int = _limit(
        4_000_000, "streams with a summary of their own, per synopsis; of each shard a part"
    )
    max_panes: int = _limit(1_000, "panes a window may be made of")
    max_watches: int = _limit(100_000, "watches that run")
    max_plugins: int = _limit(100, "versions of plug-ins")
    plugin_seconds: int = _limit(10, "one call of a plug-in")
    plugin_bytes: int = _limit(1024 * _MIB, "memory of a plug-in's process, beside Python's own")
    remembered_requests: int = _limit(10_000, "ids whose outcome is given again if they repeat")
    remembered_states: int = _limit(200_000, "ids of imports and restores, known for 24 hours")
