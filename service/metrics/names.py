"""Names as values of a label: bounded in number and length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

OTHERS = "other"  # stands for all names that got no label of their own
MOST_NAMES, _LONGEST = 100, 100


class BoundedNames:
    """The first hundred names that come, as long as the process lives; the rest is `other`.

    Users name data sets, topics and plug-ins. Would a name that went make room for a new one,
    then whoever makes and deletes them could make ever more time series.

    >>> names = BoundedNames()
    >>> names.of("Forex"), names.of("x" * 1000)
    ('Forex', 'other')
    """

    def __init__(self) -> None:
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        if name in self._known:
            return name
        if len(self._known) == MOST_NAMES or len(name) > _LONGEST:
            return OTHERS
        self._known.add(name)
        return name

    def sums(self, values: Mapping[str, float]) -> dict[str, float]:
        """The sum of each label."""
        return {label: sum(group) for label, group in self._groups(values.items()).items()}

    def highest(self, values: Mapping[str, float]) -> dict[str, float]:
        """The highest value of each label."""
        return {label: max(group) for label, group in self._groups(values.items()).items()}

    def _groups(self, values: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
        groups: dict[str, list[float]] = defaultdict(list)
        for name, value in values:
            groups[self.of(name)].append(value)
        return groups
