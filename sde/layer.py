"""Layers: which tuples of a data set go to which slots of a bank, by which fields.

A block is passed once over each layer of its data set. All synopses made for one stream each
that share kind, parameters and fields share a layer, so that thousands of them cost one pass.
"""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import NDArray

from sde.bank import Bank
from sde.block import Block
from sde.names import Names
from sde.selection import Selection
from sde.slot_table import SlotTable
from sde.store import Store
from synopses import Texts

_WHOLE = np.zeros(1, np.uint64)  # the one entry of a layer for a whole data set


class Reach(enum.StrEnum):
    """Which streams of the data set a layer summarises."""

    WHOLE = "whole"  # all of them, in one slot
    EACH = "each"  # every stream that appears, in a slot of its own
    NAMED = "named"  # those that synopses were created for


class Layer:
    def __init__(
        self, store: Store, name: str, bank: Bank, reach: Reach, key: str, values: tuple[str, ...]
    ) -> None:
        self.bank, self.reach, self.key, self.values = bank, reach, key, values
        self.name = name
        self.table = SlotTable(store, f"{name}.table")
        self.names = Names(store, f"{name}.names")
        self._shed = store.array(f"{name}.shed", np.int64, (), 1)

    # -- data -----------------------------------------------------------------------------------

    @property
    def shed(self) -> int:
        """Tuples left out because their stream found no room."""
        return int(self._shed[0])

    def add(self, selection: Selection, room: int) -> None:
        """Add a block; at most `room` new slots may be made, what needs more is shed."""
        slots = self._slots_of(selection.block, room)
        reads = type(self.bank.template).reads
        items, usable = selection.items(self.key, self.values, reads)
        wanted = slots >= 0
        added = wanted if usable is None else wanted & usable
        if added.all():
            self.bank.add(slots, items)
            return
        rows = np.flatnonzero(added)
        if len(rows):
            self.bank.add(slots[rows], items.take(rows))
        if usable is not None:
            self.bank.skip(slots[wanted & ~usable])
        if self.reach is not Reach.NAMED:
            self._shed[0] += np.count_nonzero(~wanted)

    def _slots_of(self, block: Block, room: int) -> NDArray[np.int32]:
        """The slot of each tuple, -1 for none."""
        if self.reach is Reach.WHOLE:
            slot = self._find_or_make(_WHOLE, None, room)[0]
            return np.full(len(block), slot, np.int32)
        if self.reach is Reach.NAMED:
            return self.table.find(block.stream_hashes)[block.stream_of]
        return self._find_or_make(block.stream_hashes, block.streams, room)[block.stream_of]

    def _find_or_make(
        self, hashes: NDArray[np.uint64], names: Texts | None, room: int
    ) -> NDArray[np.int32]:
        slots = self.table.find(hashes)
        missing = np.flatnonzero(slots < 0)[: max(room, 0)]
        if len(missing):
            slots[missing] = self.make(hashes[missing], names.take(missing) if names else None)
        return slots

    def make(self, hashes: NDArray[np.uint64], names: Texts | None) -> NDArray[np.int32]:
        """New slots for streams that have none."""
        slots = self.bank.allocate(len(hashes))
        self.table.insert(hashes, slots)
        if names is not None:
            self.names.put(slots, names)
        return slots

    def drop_stream(self, stream: np.uint64) -> None:
        """Give the slot of one stream back."""
        slot = self.table.find(np.array([stream]))
        if slot[0] >= 0:
            self.bank.free(slot)
            self.table.remove(stream)

    def drop_all(self) -> None:
        self.bank.free(self.table.entries()[1])

    # -- questions ------------------------------------------------------------------------------

    def slot_of(self, stream: np.uint64 | None) -> int:
        """The slot of a stream (None: of the whole data set), -1 for none."""
        wanted = _WHOLE if stream is None else np.array([stream], np.uint64)
        return int(self.table.find(wanted)[0])
