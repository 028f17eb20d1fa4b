"""Facts as they rest in a store, read by every process that works on a shard.

A change appends; when the file has grown far beyond what it says it is written anew. All who read
it must then begin at its front: after a burst of changes that still count it is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import orjson

from sde.storage.facts import Fact, Factual
from sde.storage.store import Store

_REWRITTEN, _DENSE = 0, 1  # how often the file was written anew; bytes it needed, as last seen
_SMALLEST = 256 << 10  # bytes a file may have however little it says


class FactFile:
    """The facts of one holder, in the blob `name.facts` of a store, as lines of JSON.

    Whoever works on a shard calls `read` when a batch begins and `write` when it ends. If
    `only_grew` is false, what was read before does not count any more: begin with an empty holder
    and a new FactFile.
    """

    def __init__(self, store: Store, name: str, holder: Factual) -> None:
        self._store, self._name, self._holder = store, name, holder
        self._known = 0  # bytes of the file that the holder knows
        self._rewritten = int(self._sizes()[_REWRITTEN])

    def _sizes(self) -> np.ndarray:
        return self._store.array(f"{self._name}.sizes", np.int64, (), 2)

    @property
    def only_grew(self) -> bool:
        """Whether what was read before is still what stands at the front of the file."""
        return int(self._sizes()[_REWRITTEN]) == self._rewritten

    def read(self) -> None:
        """Apply what the holder does not know yet."""
        new = self._store.read_blob(f"{self._name}.facts", self._known) or b""
        self._known += len(new)
        for line in new.splitlines():
            self._holder.apply(orjson.loads(line))

    def write(self) -> None:
        """Append the facts that are new, or write the file anew."""
        news = self._holder.take_news()
        if not news:
            return
        if self._rewrite():
            return
        data = _lines(news)
        self._store.append_blob(f"{self._name}.facts", data)
        self._known += len(data)

    def _rewrite(self) -> bool:
        """Write the file anew if most of it says nothing any more; whether that was done."""
        sizes = self._sizes()
        if self._known <= 2 * sizes[_DENSE] + _SMALLEST:
            return False
        data = _lines(self._holder.facts())
        sizes[_DENSE] = len(data)
        if self._known <= 2 * len(data):
            return False
        self._store.write_blob(f"{self._name}.facts", data)
        self._known = len(data)
        self._rewritten += 1
        sizes[_REWRITTEN] = self._rewritten
        return True


def _lines(facts: Iterable[Fact]) -> bytes:
    return b"".join(orjson.dumps(fact) + b"\n" for fact in facts)
