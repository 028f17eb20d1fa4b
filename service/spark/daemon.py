"""Spark's Python daemon with the engine's modules loaded: `python -m service.spark.daemon WORKER`.

Spark forks its workers from a daemon. What the daemon has loaded is there in all of them, in the
same memory; otherwise each would take more than a second to load it.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import sys

from pyspark.daemon import manager

LOADED_FOR_WORKERS = (
    "sde.stages.ingest",
    "sde.stages.merge",
    "service.stages.ingest",
    "service.kafka.fetch",
    "service.kafka.sink",
    "service.stages.shard_batch",
)

# mallopt's parameters and what they become: arrays up to the largest size allowed come from the
# heap, which keeps that much when they are freed.
_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -3, -1
_FROM_HEAP, _KEPT = 32 << 20, 512 << 20


def keep_memory() -> None:
    """Let freed arrays be used again. By default glibc returns large ones to the system, which
    zeroes pages for the next ones: that took a quarter of a worker's time."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc has it
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _FROM_HEAP)
        mallopt(_M_TRIM_THRESHOLD, _KEPT)


if __name__ == "__main__":
    if sys.argv[1] == "pyspark.worker":  # daemons with another argument serve planning only
        keep_memory()
        for name in LOADED_FOR_WORKERS:
            importlib.import_module(name)
        gc.freeze()
    manager()
