"""Banks: synopses of one kind and one set of parameters, side by side in slots."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.kernels import slot_table as kernel
from sde.store import Store
from synopses import BankedSynopsis, Items, Synopsis

_USED, _FREED = 0, 1


class Bank(abc.ABC):
    """Slots are taken and given back; a freed slot is empty again and is taken first."""

    def __init__(self, store: Store, name: str, template: Synopsis) -> None:
        self.template = template
        self.name = name
        self._store = store
        self._counts = store.array(f"{name}.counts", np.int64, (), 2)
        self._map()

    def _array(self, name: str, dtype: Any, row: tuple[int, ...] = ()) -> NDArray[Any]:
        return self._store.array(f"{self.name}.{name}", dtype, row, self.used)

    def _map(self) -> None:
        self.tuples = self._array("tuples", np.int64)
        self.skipped = self._array("skipped", np.int64)
        self._freed = self._array("freed", np.int32)

    @property
    def used(self) -> int:
        """Slots ever taken: the rows of the arrays that matter."""
        return int(self._counts[_USED])

    @property
    def live(self) -> int:
        return int(self._counts[_USED] - self._counts[_FREED])

    def allocate(self, count: int) -> NDArray[np.int32]:
        again = min(count, int(self._counts[_FREED]))
        self._counts[_FREED] -= again
        left = int(self._counts[_FREED])
        reused = self._freed[left : left + again].copy()
        start = self.used
        self._counts[_USED] += count - again
        self._map()
        return np.concatenate([reused, np.arange(start, self.used, dtype=np.int32)])

    def free(self, slots: NDArray[np.int32]) -> None:
        self.tuples[slots] = 0
        self.skipped[slots] = 0
        self._clear(slots)
        start = int(self._counts[_FREED])
        self._freed[start : start + len(slots)] = slots
        self._counts[_FREED] += len(slots)

    def add(self, slots: NDArray[np.int32], items: Items) -> None:
        """Add item i to the synopsis in `slots[i]`."""
        kernel.count(slots, self.tuples)
        self._add(slots, items)

    def skip(self, slots: NDArray[np.int32]) -> None:
        """Count tuples that lack the key or the value."""
        kernel.count(slots, self.skipped)

    @abc.abstractmethod
    def _add(self, slots: NDArray[np.int32], items: Items) -> None: ...

    @abc.abstractmethod
    def _clear(self, slots: NDArray[np.int32]) -> None: ...

    @abc.abstractmethod
    def at(self, slot: int) -> Synopsis:
        """The synopsis in a slot, to be asked or copied."""

    @abc.abstractmethod
    def bytes_of(self, slots: NDArray[np.int32]) -> int:
        """What the synopses in these slots take."""

    @abc.abstractmethod
    def bytes_held(self) -> int:
        """What all live slots take."""

    def save(self) -> None:
        """Write what is held outside the store back to it."""


class ArrayBank(Bank):
    """Kinds of fixed layout: one array of slots for each array of the kind."""

    template: BankedSynopsis

    def _map(self) -> None:
        super()._map()
        layout = self.template.layout()
        self.arrays = {name: self._array(f"a.{name}", *spec) for name, spec in layout.items()}

    def _add(self, slots: NDArray[np.int32], items: Items) -> None:
        self.template.add_slots(self.arrays, slots, items)

    def _clear(self, slots: NDArray[np.int32]) -> None:
        for array in self.arrays.values():
            array[slots] = 0

    def at(self, slot: int) -> BankedSynopsis:
        return self.template.at(self.arrays, slot)

    def bytes_of(self, slots: NDArray[np.int32]) -> int:
        return len(slots) * self.template.memory

    def bytes_held(self) -> int:
        return self.live * self.template.memory


class ObjectBank(Bank):
    """Kinds of variable size: each slot is an object, kept in the store as its bytes."""

    def __init__(self, store: Store, name: str, template: Synopsis) -> None:
        super().__init__(store, name, template)
        self._objects: dict[int, Synopsis] = {}
        self._changed: set[int] = set()

    def _map(self) -> None:
        super()._map()
        self._sizes = self._array("sizes", np.int64)

    def _blob(self, slot: int) -> str:
        return f"{self.name}.o.{slot}"

    def at(self, slot: int) -> Synopsis:
        if slot not in self._objects:
            data = self._store.read_blob(self._blob(slot))
            cls = type(self.template)
            self._objects[slot] = cls.from_bytes(data) if data else cls(**self.template.params)
        return self._objects[slot]

    def _add(self, slots: NDArray[np.int32], items: Items) -> None:
        order = np.argsort(slots, kind="stable")
        touched, starts = np.unique(slots[order], return_index=True)
        for slot, rows in zip(touched.tolist(), np.split(order, starts[1:]), strict=True):
            self.at(slot).add(items.take(rows))
            self._changed.add(slot)

    def _clear(self, slots: NDArray[np.int32]) -> None:
        for slot in slots.tolist():
            self._objects[slot] = type(self.template)(**self.template.params)
            self._changed.add(slot)

    def bytes_of(self, slots: NDArray[np.int32]) -> int:
        self.save()
        return int(self._sizes[slots].sum())

    def bytes_held(self) -> int:
        return int(self._sizes[: self.used].sum())  # as of the last save

    def save(self) -> None:
        for slot in sorted(self._changed):
            data = self._objects[slot].to_bytes()
            self._sizes[slot] = len(data)
            self._store.write_blob(self._blob(slot), data)
        self._changed.clear()


def open_bank(store: Store, name: str, template: Synopsis) -> Bank:
    form = ArrayBank if isinstance(template, BankedSynopsis) else ObjectBank
    return form(store, name, template)
