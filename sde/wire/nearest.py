"""What was probably meant by a name that is unknown."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection


def nearest(word: str, names: Collection[str], likeness: float = 0.6) -> str:
    """A sentence naming what was probably meant, or nothing.

    >>> nearest("Count-Min", ["bloom", "count_min"]), nearest("bloom", ["bloom"])
    ('Did you mean count_min? ', '')
    """
    if word in names:
        return ""
    plain = re.sub(r"[^a-z0-9_]", "_", word.lower())
    close = difflib.get_close_matches(plain, names, 1, likeness)
    return f"Did you mean {close[0]}? " if close else ""
