"""States written by past versions, which every later version must read.

`python tests/golden/golden.py` writes the files of kinds and formats that have none yet. A file
that exists is never written again: it stands for states people have kept.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from synopses import KINDS, Synopsis
from synopses.laws.law import answers

FOLDER = Path(__file__).parent
ITEMS = 200


def path_of(cls: type[Synopsis], format_version: int) -> Path:
    return FOLDER / f"{cls.kind}-{format_version}.state"


def answers_of(synopsis: Synopsis) -> dict[str, object]:
    """The value of every question, as JSON has it."""
    found: dict[str, object] = json.loads(
        json.dumps({name: answer.value for name, answer in answers(synopsis)})
    )
    return found


def write_missing() -> None:
    for cls in KINDS.values():
        path = path_of(cls, cls.format)
        if path.exists():
            continue
        synopsis = cls.example()
        synopsis.add(cls.example_items(np.random.default_rng(2024), ITEMS))
        path.write_bytes(synopsis.to_bytes())
        path.with_suffix(".json").write_text(json.dumps(answers_of(synopsis), indent=1) + "\n")
        print(path.name)


if __name__ == "__main__":
    write_missing()
