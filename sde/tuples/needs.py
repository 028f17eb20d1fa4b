"""What synopses read of the tuples of their data sets: the rest need not travel or rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Needs:
    """`ids`: what the identities of records are made of."""

    fields: frozenset[str] = frozenset()
    times: bool = False
    ids: bool = False

    def cover(self, others: Needs) -> bool:
        """
        >>> Needs(frozenset({"price"})).cover(Needs(frozenset({"price"}), times=True))
        False
        """
        return (
            self.fields >= others.fields and self.times >= others.times and self.ids >= others.ids
        )

    def as_json(self) -> dict[str, Any]:
        return {"fields": sorted(self.fields), "times": self.times, "ids": self.ids}

    @classmethod
    def from_json(cls, held: Mapping[str, Any]) -> Needs:
        return cls(frozenset(held["fields"]), bool(held["times"]), bool(held["ids"]))


_NOTHING = Needs()


class Wanted:
    """The needs of every data set; of those that are not in it nothing is read."""

    def __init__(self, by_dataset: Mapping[str, Needs]) -> None:
        self._by_dataset = dict(by_dataset)
        self.fields: frozenset[str] = frozenset().union(
            *(needs.fields for needs in self._by_dataset.values())
        )

    def get(self, dataset: str) -> Needs | None:
        return self._by_dataset.get(dataset)

    def of(self, dataset: str) -> Needs:
        return self._by_dataset.get(dataset, _NOTHING)

    def to_bytes(self) -> bytes:
        held = {dataset: needs.as_json() for dataset, needs in sorted(self._by_dataset.items())}
        return orjson.dumps(held)

    @classmethod
    def from_bytes(cls, data: bytes) -> Wanted:
        """ValueError if the bytes are not what `to_bytes` wrote."""
        try:
            held = orjson.loads(data)
            return cls({dataset: Needs.from_json(needs) for dataset, needs in held.items()})
        except (AttributeError, KeyError, TypeError, orjson.JSONDecodeError) as error:
            raise ValueError(f"not the needs of data sets: {error!r}") from None
