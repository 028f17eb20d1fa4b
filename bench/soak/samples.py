"""What an engine takes, noted every few seconds, and whether that grows."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.site import Site
from clients.processes import folder_bytes, memory

SECONDS = 10.0  # between samples
_SAMPLES_A_LINE = 6  # that is printed meanwhile
_MB = 1_000_000
# What is judged. In the second half each may grow by this share of its median, or by this much if
# that is more: what goes up and down by itself is no growth. The log of each of four shards has
# 32 MB before it is replaced by a snapshot (`sde.shard.keeper`).
SHARE = 0.05
ROOM = {
    "memory": 16 * _MB,
    "arena": 4 * _MB,
    "arena_files": 50,
    "checkpoint": 4 * 34 * _MB,
    "checkpoint_files": 50,
    "logs": 8 * _MB,
    "snapshots": 1 * _MB,
    "files": 50,
}


@dataclass(frozen=True, slots=True)
class Sample:
    """Bytes of memory and of folders; `files` are those in the engine's folder."""

    seconds: float
    jvm: int
    python: int
    arena: int
    arena_files: int
    checkpoint: int
    checkpoint_files: int
    logs: int
    snapshots: int
    files: int

    @property
    def memory(self) -> int:
        return self.jvm + self.python

    def __str__(self) -> str:
        names = ("jvm", "python", "arena", "checkpoint", "logs", "snapshots")
        sizes = ", ".join(f"{name} {getattr(self, name) / _MB:.1f} MB" for name in names)
        parts = f"arena {self.arena_files}, checkpoint {self.checkpoint_files}"
        return f"{sizes}, {self.files} files ({parts})"


def take(site: Site, began: float) -> Sample:
    """What the engine of a site takes now."""
    folder, used = site.engine.folder, memory(site.engine.pid)
    return Sample(
        seconds=time.monotonic() - began,
        jvm=used["jvm"],
        python=used["python"],
        arena=folder_bytes(site.arena),
        arena_files=_files(site.arena),
        checkpoint=folder_bytes(site.checkpoint),
        checkpoint_files=_files(site.checkpoint),
        logs=folder_bytes(folder / "logs"),
        snapshots=folder_bytes(folder / "snapshots"),
        files=_files(folder),
    )


def _files(folder: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


class Sampler:
    """Takes samples from enter to exit."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.samples: list[Sample] = []
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> list[Sample]:
        self._thread.start()
        return self.samples

    def __exit__(self, *exception: object) -> None:
        self._enough.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._enough.wait(SECONDS):
            self.samples.append(take(self._site, began))
            if len(self.samples) % _SAMPLES_A_LINE == 0:
                print(f"after {(time.monotonic() - began) / 60:.0f} min: {self.samples[-1]}")


def growth(samples: Sequence[Sample], name: str) -> float | None:
    """By how much a figure grew in the second half, as a multiple of what it may.

    The growth is the median slope between any two samples, times the length: a few samples far
    off, as while a snapshot is written, do not count. None if there are too few samples.
    """
    half = samples[len(samples) // 2 :]
    if len(half) < 4:
        return None
    values = [getattr(sample, name) for sample in half]
    slopes = [
        (getattr(b, name) - getattr(a, name)) / (b.seconds - a.seconds)
        for a, b in itertools.combinations(half, 2)
    ]
    grown = median(slopes) * (half[-1].seconds - half[0].seconds)
    return float(grown / max(ROOM[name], SHARE * median(values)))
