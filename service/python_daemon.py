"""Spark's Python daemon with the engine's modules loaded: `python -m service.python_daemon WORKER`.

Spark forks its workers from a daemon. What the daemon has loaded is there in all of them, in the
same memory; otherwise each would take more than a second to load it.
"""

from __future__ import annotations

import gc
import importlib
import sys

from pyspark.daemon import manager

_OF_WORKERS = (
    "sde.stages.ingest",
    "sde.stages.merge",
    "service.ingest_source",
    "service.kafka.sink",
    "service.shard_batch",
)

if __name__ == "__main__":
    if sys.argv[1] == "pyspark.worker":  # others only plan
        for name in _OF_WORKERS:
            importlib.import_module(name)
        gc.freeze()
    manager()
