"""What synopses read of the tuples of their data sets: the rest need not travel or rest.

A shard derives the needs from its layers and writes them to a file (`service.stages.wanted_file`);
ingest reads it and decodes only what is needed. A block that turns out to lack something is read
again (`sde.tuples.block.completed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import msgspec


class NeedsJson(TypedDict):
    """`Needs` in the header of a block and in the file of needs."""

    fields: list[str]
    times: bool
    ids: bool


@dataclass(frozen=True, slots=True)
class Needs:
    """What is read of the tuples of one data set.

    fields  names of fields
    times   when tuples happened and arrived
    ids     the offsets and lines that the identities of records are made of
    """

    fields: frozenset[str] = frozenset()
    times: bool = False
    ids: bool = False

    def cover(self, others: Needs) -> bool:
        """Whether tuples of which this was kept have all that `others` read.

        >>> Needs(frozenset({"price"})).cover(Needs(frozenset({"price"}), times=True))
        False
        """
        return (
            self.fields >= others.fields and self.times >= others.times and self.ids >= others.ids
        )

    def as_json(self) -> NeedsJson:
        return {"fields": sorted(self.fields), "times": self.times, "ids": self.ids}

    @classmethod
    def from_json(cls, needs: NeedsJson) -> Needs:
        return cls(frozenset(needs["fields"]), needs["times"], needs["ids"])


_NOTHING = Needs()


class NeedsByDataset:
    """The needs of every data set; of those that are not in it nothing is read.

    >>> wanted = NeedsByDataset({"Forex": Needs(frozenset({"price"}))})
    >>> NeedsByDataset.from_bytes(wanted.to_bytes()).of("Forex").fields
    frozenset({'price'})
    >>> wanted.of("Weather")
    Needs(fields=frozenset(), times=False, ids=False)
    """

    def __init__(self, by_dataset: Mapping[str, Needs]) -> None:
        self._by_dataset = dict(by_dataset)
        self.fields: frozenset[str] = frozenset().union(
            *(needs.fields for needs in self._by_dataset.values())
        )

    def get(self, dataset: str) -> Needs | None:
        """None if no synopsis reads the data set."""
        return self._by_dataset.get(dataset)

    def of(self, dataset: str) -> Needs:
        """Empty needs if no synopsis reads the data set."""
        return self._by_dataset.get(dataset, _NOTHING)

    def to_bytes(self) -> bytes:
        """Equal needs give equal bytes."""
        by_dataset = sorted(self._by_dataset.items())
        return msgspec.json.encode({dataset: needs.as_json() for dataset, needs in by_dataset})

    @classmethod
    def from_bytes(cls, data: bytes) -> NeedsByDataset:
        """ValueError if the bytes are not what `to_bytes` wrote."""
        try:
            by_dataset = msgspec.json.decode(data, type=dict[str, NeedsJson])
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not the needs of data sets: {error!r}") from None
        return cls({dataset: Needs.from_json(needs) for dataset, needs in by_dataset.items()})
