"""Helpers of the tests of readers that give tables."""

import math

import naive_decoding as naive
import numpy as np

from sde.decoding import Limits
from sde.decoding.letters import Letters
from synopses.hashing import key_text

FIRST_OFFSET = 1000
LIMITS = Limits()


class Read:
    """What a reader made of payloads: `rows` has a dict of texts by path for each record read."""

    def __init__(self, reader, payloads, paths=None, limits=LIMITS, **how):
        messages = naive.messages(payloads, FIRST_OFFSET)
        letters = Letters(messages, limits)
        which = np.flatnonzero(messages.ends > messages.starts)
        self.tables = list(reader(messages, which, paths, limits, letters, **how))
        self.rows, self.places = [], []
        for table in self.tables:
            self.rows += texts_of(table)
            self.places += zip(table.message_of.tolist(), table.lines.tolist(), strict=True)
        self.letters = letters.sorted()

    @property
    def refused(self):
        """(message, code) of each letter."""
        return [(letter["offset"] - FIRST_OFFSET, letter["code"]) for letter in self.letters]


def texts_of(table):
    """A dict of texts by path for each row."""
    rows = [{} for _ in range(len(table))]
    for path, column in table.columns.items():
        assert len(column) == len(table)
        for row, text in enumerate(column.texts()):
            if column.valid is None or column.valid[row]:
                rows[row][path] = text
    return rows


def flat(value, path=""):
    """The scalar leaves of a Python value, as texts by path."""
    if isinstance(value, dict):
        parts = ((f"{path}.{name}" if path else name, inner) for name, inner in value.items())
    elif isinstance(value, list | tuple):
        parts = ((f"{path}[{i}]", inner) for i, inner in enumerate(value))
    elif value is None or (isinstance(value, float) and not math.isfinite(value)):
        return {}
    elif isinstance(value, bytes):
        return {path: value.decode("latin-1")}
    else:
        return {path: key_text(value)}
    return {name: text for where, inner in parts for name, text in flat(inner, where).items()}
