"""The README's table of kinds, made from their declarations.

`python -m docs.generate.kinds_table` prints it; with `--write` it takes its place in README.md,
between `<!-- kinds -->` and `<!-- /kinds -->`. A test compares all but the speeds,
which are those of the last `python -m bench.kernels`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from synopses import KINDS, Synopsis
from synopses.parameters import Parameter

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
SPEEDS = ROOT / "bench" / "results" / "kernels.json"
START, END = "<!-- kinds -->", "<!-- /kinds -->"
HEADER = (
    *("kind", "answers", "parameters", "guarantee", "memory"),
    *("million updates/s: one, in a bank", "traits"),
)
SPEED = 5  # the column that a test cannot compare
MINOR = {"decimals", "max_key_bytes", "seed"}  # parameters that few will change


def table(speeds: Mapping[tuple[str, str], float]) -> str:
    """Markdown; `speeds` are updates a second by kind and setting ("one", "bank")."""
    rows = [HEADER, ["---"] * len(HEADER)]
    rows += [row(cls, speeds) for _, cls in sorted(KINDS.items())]
    # A bar in a formula would end the table's cell.
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in rows]
    return "\n".join(lines)


def row(cls: type[Synopsis], speeds: Mapping[tuple[str, str], float]) -> list[str]:
    measured = [speeds.get((cls.kind, setting)) for setting in ("one", "bank")]
    traits = {"merges": cls.mergeable, "any order": cls.order_free}
    return [
        f"`{cls.kind}`",
        ", ".join(cls.questions),
        ", ".join(_shown(p) for name, p in cls.parameters.items() if name not in MINOR),
        cls.guarantee,
        _bytes(cls().memory),
        ", ".join("–" if speed is None else f"{speed / 1e6:.3g}" for speed in measured),
        ", ".join(name for name, has in traits.items() if has),
    ]


def _shown(parameter: Parameter) -> str:
    default = parameter.default
    value = f"{default:g}" if isinstance(default, float) else str(default).lower()
    return f"{parameter.name}={value}" + (f" {parameter.unit}" if parameter.unit else "")


def _bytes(count: int) -> str:
    return f"{count / 1000:.3g} kB"


def speeds() -> dict[tuple[str, str], float]:
    """Updates a second from raw columns, as last measured; none if that never was."""
    if not SPEEDS.exists():
        return {}
    results = json.loads(SPEEDS.read_text())["results"]
    return {(r["kind"], r["setting"]): r["speeds"]["from texts"] for r in results}


def replaced(readme: str, made: str) -> str:
    """The README with another table."""
    before, _, rest = readme.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{made}\n{END}{after}"


if __name__ == "__main__":
    made = table(speeds())
    if "--write" in sys.argv[1:]:
        README.write_text(replaced(README.read_text(encoding="utf-8"), made), encoding="utf-8")
        print(f"{README}: {len(KINDS)} kinds")
    else:
        print(made)
