"""Writes `sde/wire/kinds.json`, the catalogue of kinds that clients read.

Run `python -m docs.generate.kinds_file` after a change to a kind's declarations; a test compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docs.generate.kinds_table import purpose_of
from docs.generate.sizes import declared_sizes
from synopses import KINDS, Synopsis
from synopses.declaration import declaration

PATH = Path(__file__).parents[2] / "sde" / "wire" / "kinds.json"


def text() -> str:
    """What the file should hold."""
    return json.dumps([_with_examples(cls) for cls in KINDS.values()], indent=1) + "\n"


def _with_examples(cls: type[Synopsis]) -> dict[str, Any]:
    declared = declaration(cls)
    for question in declared["questions"]:
        example = cls.example_query(question["name"])
        del example["type"]
        if example:
            question["example"] = example
    return declared | {"purpose": purpose_of(cls.kind)} | declared_sizes(cls.kind)


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(f"{PATH}: {len(KINDS)} kinds")
