"""The catalogue of kinds, for help texts and forms, without importing the algorithms.

Read from `kinds.json`, which `python -m docs.generate.kinds_file` writes from the declarations.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any


@functools.cache
def kinds() -> dict[str, dict[str, Any]]:
    """What each kind declares about itself, by its name.

    >>> [parameter["name"] for parameter in kinds()["count_min"]["parameters"]][:2]
    ['epsilon', 'delta']
    """
    text = resources.files("sde.wire").joinpath("kinds.json").read_text(encoding="utf-8")
    return {each["kind"]: each for each in json.loads(text)}
