"""Writes `sde/wire/kinds.json`, the catalogue of kinds that clients read.

Run `python -m docs.generate.kinds_file` after a change to a kind's declarations; a test compares.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from synopses import KINDS, Synopsis

PATH = Path(__file__).parents[2] / "sde" / "wire" / "kinds.json"


def declaration(cls: type[Synopsis]) -> dict[str, Any]:
    """What a kind declares about itself, as JSON."""
    return {
        "kind": cls.kind,
        "doc": (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " "),
        "guarantee": cls.guarantee,
        "mergeable": cls.mergeable,
        "linear": cls.linear,
        "order_free": cls.order_free,
        "idempotent": cls.idempotent,
        "reads": sorted(cls.reads),
        "parameters": [p.declaration() for p in cls.parameters.values()],
        "questions": [q.declaration() for q in cls.questions.values()],
    }


def text() -> str:
    """What the file should hold."""
    return json.dumps([declaration(cls) for cls in KINDS.values()], indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(f"{PATH}: {len(KINDS)} kinds")
