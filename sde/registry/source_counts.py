"""How many records of each source became dead letters.

They rest in the state of shard 0 as facts: a crash loses nothing and counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sde.records.sources import ReadSource, SourceSet
from sde.storage.facts import Fact, Factual


class SourceCounts(Factual):
    """Counts begin anew with the mapping of a source.

    >>> counts = SourceCounts()
    >>> counts.add("trades", changed=1, refused=2)
    >>> counts.add("trades", changed=1, refused=3)
    >>> list(counts.facts())
    [['refused', 'trades', 1, 5]]
    """

    def __init__(self) -> None:
        super().__init__()
        self._refused: dict[str, tuple[int, int]] = {}  # version of the mapping, and how many

    def facts(self) -> Iterator[Fact]:
        for name, (changed, count) in self._refused.items():
            yield ["refused", name, changed, count]

    def handlers(self) -> Mapping[str, Callable[..., None]]:
        return {"refused": self._on_refused, "forget": self._on_forget}

    def _on_refused(self, name: str, changed: int, count: int) -> None:
        self._refused[name] = changed, count

    def _on_forget(self, name: str) -> None:
        del self._refused[name]

    def add(self, name: str, changed: int, refused: int) -> None:
        known, before = self._refused.get(name, (changed, 0))
        self._change("refused", name, changed, refused + (before if known == changed else 0))

    def keep_only(self, sources: SourceSet) -> None:
        """Forget sources that are read no more: names must not pile up."""
        names = {one.source.name for one in sources.sources}
        for name in [name for name in self._refused if name not in names]:
            self._change("forget", name)

    def of(self, read: ReadSource) -> int:
        """Since the source has its mapping."""
        changed, count = self._refused.get(read.source.name, (read.changed, 0))
        return count if changed == read.changed else 0
