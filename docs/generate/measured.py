"""What the last `python -m bench.kernels` measured, read from bench/results."""

from __future__ import annotations

import json
from pathlib import Path

_RESULTS = Path(__file__).parents[2] / "bench" / "results" / "kernels.json"

ONE, BANK = "one", "bank"  # a single synopsis; many in one array


def speeds() -> dict[tuple[str, str], float]:
    """Updates a second from raw columns, by kind and setting; empty if never measured."""
    if not _RESULTS.exists():
        return {}
    results = json.loads(_RESULTS.read_text(encoding="utf-8"))["results"]
    return {(r["kind"], r["setting"]): r["speeds"]["from texts"] for r in results}


def in_millions(speed: float | None) -> str:
    """
    >>> in_millions(12_345_678.0), in_millions(None)
    ('12.3', '–')
    """
    return "–" if speed is None else f"{speed / 1e6:.3g}"
