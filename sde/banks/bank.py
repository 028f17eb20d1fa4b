"""Banks: synopses of one kind and one set of parameters, side by side in slots."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sde.kernels import slot_table as kernel
from sde.plugins.remote import Remote, RemoteSynopsis
from sde.storage.store import Store
from synopses import BankedSynopsis, Items, Synopsis

_USED, _FREED, _STAMP = 0, 1, 2
_SLOT_BYTES = 8 + 8 + 8 + 4  # that a bank keeps of a slot beside the synopsis
_WORTH_IT = 1 << 20  # bytes of free slots that are worth the trouble of giving them back,
_WORTH_A_LAYER = 64 << 10  # and so many more for each layer that has to be told
_SUBTRACTED_BYTES = 16 << 20  # of states that are taken away at once


class Bank(abc.ABC):
    """Slots are taken and given back; a freed slot is empty again and is taken first.

    Layers call it; `tuples`, `skipped` and `stamps` have a row for each slot and are read by
    others, but only the bank writes to them. Arrays may be longer than `used`. When most slots are
    free, the shard has the arrays written anew without them (`compact`).
    """

    def __init__(self, store: Store, name: str, template: Synopsis) -> None:
        self.template = template
        self.name = name
        self._store = store
        self.remap()

    def remap(self) -> None:
        """Take the arrays from the store again: another process may have changed them."""
        self._counts = self._store.array(f"{self.name}.counts", np.int64, (), 3)
        self._map()

    def _array(self, name: str, dtype: Any, row: tuple[int, ...] = ()) -> NDArray[Any]:
        return self._store.array(f"{self.name}.{name}", dtype, row, self.used)

    def _map(self) -> None:
        self.tuples = self._array("tuples", np.int64)
        self.skipped = self._array("skipped", np.int64)
        self.stamps = self._array("stamps", np.int64)  # change when a slot is put to another use
        self._freed = self._array("freed", np.int32)

    @property
    def used(self) -> int:
        """Slots ever taken: the rows of the arrays that matter."""
        return int(self._counts[_USED])

    @property
    def live(self) -> int:
        """Slots in use now."""
        return int(self._counts[_USED] - self._counts[_FREED])

    def allocate(self, count: int) -> NDArray[np.int32]:
        """Take slots, all empty. Arrays of the bank that were read before may be outdated."""
        again = min(count, int(self._counts[_FREED]))
        self._counts[_FREED] -= again
        left = int(self._counts[_FREED])
        reused = self._freed[left : left + again].copy()
        start = self.used
        self._counts[_USED] += count - again
        self._map()
        slots = np.concatenate([reused, np.arange(start, self.used, dtype=np.int32)])
        self._stamp(slots)
        return slots

    def begin_twin(self, name: str) -> None:
        """Make a bank `name` in the same store with the same slots, for states of another form."""
        shared = {"counts": self._counts, "freed": self._freed, **Bank._by_slot(self)}
        for part, array in shared.items():
            twin = self._store.array(f"{name}.{part}", array.dtype, (), len(array))
            twin[: len(array)] = array

    def states(self) -> tuple[NDArray[np.int64], list[bytes]]:
        """The slots in use, and the state of each."""
        slots = self._live_slots()
        return slots, [self.at(slot)._payload() for slot in slots.tolist()]

    def put_state(self, slot: int, state: bytes) -> None:
        """Set what a slot holds, whatever it was."""
        synopsis = type(self.template)(**self.template.params)
        synopsis._load(memoryview(state))
        self._put(slot, synopsis)

    def _stamp(self, slots: NDArray[np.int32]) -> None:
        """Say that the slots hold something else now: `sde.banks.pane_sums` compares stamps."""
        self._counts[_STAMP] += 1
        self.stamps[slots] = self._counts[_STAMP]

    def free(self, slots: NDArray[np.int32]) -> None:
        """Empty the slots and give them back; each may stand there once."""
        self.tuples[slots] = 0
        self.skipped[slots] = 0
        self._clear(slots)
        start = int(self._counts[_FREED])
        self._freed[start : start + len(slots)] = slots
        self._counts[_FREED] += len(slots)

    def is_sparse(self, layers: int) -> bool:
        """Whether so much is free that `compact` is worth its cost; `layers` use this bank.

        Then three slots were emptied for each one that has to be copied.
        """
        free = self.used - self.live
        worth = _WORTH_IT + layers * _WORTH_A_LAYER
        return free > 3 * self.live and free * (self.template.memory + _SLOT_BYTES) > worth

    def compact(self) -> NDArray[np.int32]:
        """Give back the memory of free slots; the new number of each slot, -1 for a free one.

        The order of slots stays. Arrays that were read before keep their old content.
        """
        used, slots = self.used, self._live_slots()
        before, stamp = self._by_slot(), int(self._counts[_STAMP])
        self._store.drop(self.name)
        self._counts = self._store.array(f"{self.name}.counts", np.int64, (), 3)
        self._counts[_USED], self._counts[_STAMP] = len(slots), stamp
        self._map()
        for name, array in self._by_slot().items():
            array[: len(slots)] = before[name][slots]
        new_slots = np.full(used, -1, np.int32)
        new_slots[slots] = np.arange(len(slots))
        return new_slots

    def _live_slots(self) -> NDArray[np.int64]:
        """The slots in use, in their order."""
        is_live = np.ones(self.used, np.bool_)
        is_live[self._freed[: self.used - self.live]] = False
        return np.flatnonzero(is_live)

    def _by_slot(self) -> dict[str, NDArray[Any]]:
        """The arrays with a row for each slot in use."""
        return {"tuples": self.tuples, "skipped": self.skipped, "stamps": self.stamps}

    @property
    def subtracts(self) -> bool:
        """Whether items can be taken away again."""
        return False

    def add(self, slots: NDArray[np.int32], items: Items, *, removes: bool = False) -> None:
        """Add item i to the synopsis in `slots[i]`, or take it away; both count as a tuple."""
        # First: a plug-in may fail, and has changed nothing then.
        self._change(slots, items, removes)
        kernel.count(slots, self.tuples)

    def add_sums(
        self,
        slots: NDArray[np.int32],
        items: Items,
        owners: NDArray[np.int32],
        tuples: NDArray[np.int64],
        skipped: NDArray[np.int64],
        *,
        removes: bool = False,
    ) -> None:
        """Add item i to `slots[i]`, or take it away; each stands for all tuples with its key.

        `owners` are the slots, each once, and for how many tuples their items stand and they lack.
        """
        self._change(slots, items, removes)
        self.tuples[owners] += tuples
        self.skipped[owners] += skipped

    def _change(self, slots: NDArray[np.int32], items: Items, removes: bool) -> None:
        if removes:
            self._subtract(slots, items)
        else:
            self._add(slots, items)

    def skip(self, slots: NDArray[np.int32]) -> None:
        """Count tuples that lack the key or the value."""
        kernel.count(slots, self.skipped)

    @abc.abstractmethod
    def _add(self, slots: NDArray[np.int32], items: Items) -> None: ...

    def _subtract(self, slots: NDArray[np.int32], items: Items) -> None:
        """Only where the bank `subtracts`."""
        raise AssertionError(f"nothing can be taken away from {self.template.kind}")

    @abc.abstractmethod
    def _clear(self, slots: NDArray[np.int32]) -> None: ...

    @abc.abstractmethod
    def at(self, slot: int) -> Synopsis:
        """The synopsis in a slot, to be asked or copied; not to be changed."""

    @abc.abstractmethod
    def bytes_of(self, slots: NDArray[np.int32]) -> int:
        """The memory that the synopses in these slots take, as users are told."""

    def absorb(self, slot: int, synopsis: Synopsis, tuples: int, skipped: int) -> None:
        """Merge a synopsis into a slot; an empty slot takes it as it is."""
        if self._is_empty(slot):
            self._put(slot, synopsis)
        else:
            self._merge(slot, synopsis)
        self._stamp(np.array([slot], np.int32))
        self.tuples[slot] += tuples
        self.skipped[slot] += skipped

    @abc.abstractmethod
    def _is_empty(self, slot: int) -> bool: ...

    @abc.abstractmethod
    def _merge(self, slot: int, synopsis: Synopsis) -> None: ...

    @abc.abstractmethod
    def _put(self, slot: int, synopsis: Synopsis) -> None: ...

    def save(self) -> None:
        """Write what is held outside the store back to it."""


class ArrayBank(Bank):
    """Kinds of fixed layout: one array of slots for each array of the kind."""

    template: BankedSynopsis

    def _map(self) -> None:
        super()._map()
        layout = self.template.layout()
        self.arrays = {name: self._array(f"a.{name}", *spec) for name, spec in layout.items()}

    def _by_slot(self) -> dict[str, NDArray[Any]]:
        return {**super()._by_slot(), **{f"a.{name}": a for name, a in self.arrays.items()}}

    def _add(self, slots: NDArray[np.int32], items: Items) -> None:
        self.template.add_slots(self.arrays, slots, items)

    @property
    def subtracts(self) -> bool:
        return self.template.linear

    def _subtract(self, slots: NDArray[np.int32], items: Items) -> None:
        """By states of their own that the items are added to."""
        owners, places = np.unique(slots, return_inverse=True)
        at_once = max(1, _SUBTRACTED_BYTES // max(1, self.template.memory))
        if isinstance(self.template, Remote):  # all: if it fails, nothing must have changed
            at_once = max(1, len(owners))
        for start in range(0, len(owners), at_once):
            some = owners[start : start + at_once]
            rows = np.flatnonzero((places >= start) & (places < start + at_once))
            layout = self.template.layout().items()
            others = {name: np.zeros((len(some), *shape), t) for name, (t, shape) in layout}
            of_some = (places[rows] - start).astype(np.int32)
            self.template.add_slots(others, of_some, items.take(rows))
            self.template.subtract_slots(self.arrays, some, others)

    def _clear(self, slots: NDArray[np.int32]) -> None:
        for array in self.arrays.values():
            array[slots] = 0

    def at(self, slot: int) -> BankedSynopsis:
        return self.template.at(self.arrays, slot)

    def _is_empty(self, slot: int) -> bool:
        return not any(array[slot].any() for array in self.arrays.values())

    def _merge(self, slot: int, synopsis: Synopsis) -> None:
        self.at(slot).merge(synopsis)  # type: ignore[arg-type]

    def _put(self, slot: int, synopsis: Synopsis) -> None:
        assert isinstance(synopsis, BankedSynopsis)
        for name, array in self.arrays.items():
            array[slot] = synopsis.arrays[name][0]

    def bytes_of(self, slots: NDArray[np.int32]) -> int:
        return len(slots) * (self.template.memory + _SLOT_BYTES)


class ObjectBank(Bank):
    """Kinds of variable size: each slot is an object, kept in the store as its bytes.

    Objects are read when first needed and written back by `save`, at the end of a batch.
    """

    def remap(self) -> None:
        self._objects: dict[int, Synopsis] = {}
        self._changed: set[int] = set()
        super().remap()

    def _map(self) -> None:
        super()._map()
        self._sizes = self._array("sizes", np.int64)

    def _by_slot(self) -> dict[str, NDArray[Any]]:
        return {**super()._by_slot(), "sizes": self._sizes}

    def compact(self) -> NDArray[np.int32]:
        self.save()
        blobs = [self._store.read_blob(self._blob(s)) for s in self._live_slots().tolist()]
        new_slots = super().compact()
        for slot, blob in enumerate(blobs):
            if blob is not None:
                self._store.write_blob(self._blob(slot), blob)
        objects = ((int(new_slots[slot]), one) for slot, one in self._objects.items())
        self._objects = {slot: one for slot, one in objects if slot >= 0}
        return new_slots

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

    def _is_empty(self, slot: int) -> bool:
        empty = type(self.template)(**self.template.params)
        return self.at(slot).to_bytes() == empty.to_bytes()

    def _merge(self, slot: int, synopsis: Synopsis) -> None:
        self.at(slot).merge(synopsis)
        self._changed.add(slot)

    def _put(self, slot: int, synopsis: Synopsis) -> None:
        self._objects[slot] = synopsis
        self._changed.add(slot)

    def _clear(self, slots: NDArray[np.int32]) -> None:
        for slot in slots.tolist():
            self._objects[slot] = type(self.template)(**self.template.params)
            self._changed.add(slot)

    def bytes_of(self, slots: NDArray[np.int32]) -> int:
        self.save()
        return int(self._sizes[slots].sum())

    def save(self) -> None:
        for slot in sorted(self._changed):
            data = self._objects[slot].to_bytes()
            self._sizes[slot] = len(data)
            self._store.write_blob(self._blob(slot), data)
        self._changed.clear()


class RemoteBank(ObjectBank):
    """Plug-ins of variable size: one call for all slots that a block touches."""

    def _add(self, slots: NDArray[np.int32], items: Items) -> None:
        touched, places = np.unique(slots, return_inverse=True)
        synopses = [self.at(slot) for slot in touched.tolist()]
        assert isinstance(self.template, RemoteSynopsis)
        self.template.add_many(synopses, places, items)  # type: ignore[arg-type]
        self._changed.update(touched.tolist())


def open_bank(store: Store, name: str, template: Synopsis) -> Bank:
    """The bank `name` of a store, new or as it was left; the form follows from the kind.

    >>> from sde.storage.store import MemoryStore
    >>> from synopses import CountMin
    >>> bank = open_bank(MemoryStore(), "b", CountMin(epsilon=0.1))
    >>> slots = bank.allocate(2)
    >>> bank.add(slots[[0, 1, 1]], Items.of(["x", "x", "y"]))
    >>> bank.at(1).estimate({"key": "x"}).value, bank.tuples[slots].tolist()
    (1.0, [1, 2])
    """
    if isinstance(template, BankedSynopsis):
        return ArrayBank(store, name, template)
    form = RemoteBank if isinstance(template, RemoteSynopsis) else ObjectBank
    return form(store, name, template)
