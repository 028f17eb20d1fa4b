"""Results as a table, Markdown and JSON."""

from __future__ import annotations

import dataclasses
import json
import platform
from importlib.metadata import version
from pathlib import Path

from bench.kernels.race import Result
from bench.tables import markdown_table

HEADER = (
    *("kind", "setting", "from hashes", "from texts", "per item", "times faster"),
    *("vectorised", "times faster", "numpy", "times faster", "DataSketches"),
)


def cells(result: Result) -> list[str]:
    speeds = {name: f"{speed / 1e6:.2f}" for name, speed in result.speeds.items()}
    row = [result.kind, result.setting, speeds["from hashes"], speeds["from texts"]]
    for name in ("per item", "vectorised", "numpy"):
        if name not in result.ratios:
            row += ["", ""]
            continue
        ratio = result.ratios[name]
        missed = " MISSED" if name in result.missed() else ""
        row.append(speeds[name])
        row.append(f"{ratio.median:.1f} ({ratio.least:.1f}-{ratio.most:.1f}){missed}")
    return [*row, result.peer]


def line(row: list[str] | tuple[str, ...]) -> str:
    widths = (22, 7, 11, 10, 8, 22, 10, 20, 8, 22, 24)
    return " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def write(results: list[Result], folder: Path) -> None:
    """kernels.json and kernels.md."""
    folder.mkdir(parents=True, exist_ok=True)
    machine = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "datasketches")},
    }
    found = {"on": machine, "results": [dataclasses.asdict(result) for result in results]}
    (folder / "kernels.json").write_text(json.dumps(found, indent=1) + "\n")
    lines = [
        "# Updates a second, on one core",
        "",
        "Millions of items a second of processor time. `from hashes` starts from hashed keys that",
        "all synopses of a column share and is compared with numpy; `from texts` hashes first and",
        "is compared with Apache DataSketches, which does so too (kinds without keys start from",
        "numbers). Times faster: median of the rounds (worst-best). A bank is many synopses that",
        "get their items in turn. Kinds that DataSketches has not got stand beside the nearest it",
        "has (bench/kernels/peers.py). Made by `python -m bench.kernels`.",
        "",
        ", ".join(f"{name} {value}" for name, value in machine.items()),
        "",
        *markdown_table(HEADER, map(cells, results)),
    ]
    (folder / "kernels.md").write_text("\n".join(lines) + "\n")
