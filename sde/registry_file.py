"""The registry's facts as they rest in a store, read by every process that works on a shard.

A change appends; when the file has grown far beyond what it says it is written anew.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import orjson

from sde.registry import Fact, Registry
from sde.store import Store

_FACTS, _SIZES = "registry.facts", "registry.sizes"
_REWRITTEN, _DENSE = 0, 1  # how often the file was written anew, and its bytes then
_SMALLEST = 256 << 10  # bytes a file may have however little it says


class RegistryFile:
    def __init__(self, store: Store, registry: Registry) -> None:
        self._store, self._registry = store, registry
        self._known = 0  # bytes of the file that the registry knows
        self._rewritten = int(self._sizes()[_REWRITTEN])

    def _sizes(self) -> np.ndarray:
        return self._store.array(_SIZES, np.int64, (), 2)

    @property
    def only_grew(self) -> bool:
        """Whether what was read before is still what stands at the front of the file."""
        return int(self._sizes()[_REWRITTEN]) == self._rewritten

    def read(self) -> None:
        """Apply what the registry does not know yet."""
        new = self._store.read_blob(_FACTS, self._known) or b""
        self._known += len(new)
        for line in new.splitlines():
            self._registry.apply(orjson.loads(line))
        self._registry.watches.ended.clear()  # who wrote it has told of them

    def write(self) -> None:
        news = self._registry.take_news()
        if not news:
            return
        sizes = self._sizes()
        if self._known > 2 * sizes[_DENSE] + _SMALLEST:
            data = _lines(self._registry.facts())
            self._store.write_blob(_FACTS, data)
            self._known = sizes[_DENSE] = len(data)
            self._rewritten += 1
            sizes[_REWRITTEN] = self._rewritten
        else:
            data = _lines(news)
            self._store.append_blob(_FACTS, data)
            self._known += len(data)


def _lines(facts: Iterable[Fact]) -> bytes:
    return b"".join(orjson.dumps(fact) + b"\n" for fact in facts)
