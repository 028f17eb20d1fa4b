"""What a kind declares about itself, as JSON: for catalogues, help texts and forms."""

from __future__ import annotations

import inspect
from typing import Any

from synopses.base import Synopsis


def declaration(cls: type[Synopsis]) -> dict[str, Any]:
    """
    >>> from synopses import Trajectory
    >>> declaration(Trajectory)["value_names"]
    ['latitude', 'longitude', 'course', 'speed']
    """
    return {
        "kind": cls.kind,
        "doc": (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " "),
        "guarantee": cls.guarantee,
        "mergeable": cls.mergeable,
        "linear": cls.linear,
        "order_free": cls.order_free,
        "idempotent": cls.idempotent,
        "reads": sorted(cls.reads),
        "value_fields": cls.value_fields,
        **({"value_names": list(cls.value_names)} if cls.value_names else {}),
        "parameters": [p.declaration() for p in cls.parameters.values()],
        "questions": [q.declaration() for q in cls.questions.values()],
    }
