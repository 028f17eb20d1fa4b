"""Layers: which tuples of a data set go to which slots of a bank, by which fields.

A block is passed once over each layer of its data set. All synopses made for one stream each
that share kind, parameters and fields share a layer, so that thousands of them cost one pass.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from sde.banks.bank import Bank
from sde.banks.distinct_keys import DistinctKeys, takes_each_key_once
from sde.banks.groups import Groups
from sde.banks.intervals import Interval
from sde.banks.selection import STREAM, TIME, Selection, Sharing
from sde.banks.slot_table import SlotTable
from sde.banks.stream_names import StreamNames
from sde.expressions import parse, paths
from sde.plugins.remote import Remote
from sde.records.left_out import LeftOut
from sde.storage.store import Store
from sde.tuples.block import Block
from sde.wire import DATASET_SCOPE, Definition
from synopses import Items, Synopsis, Texts

WHOLE_STREAM = np.uint64(0)  # what stands for the stream in a layer for a whole data set

_NAME_BYTES = 16  # where the name of a stream starts and how long it is
_QUIET_BYTES = 8
SHED, MISSED, STILL_COUNTED = 0, 1, 2  # places of the counters
_INCLUDED, _EXCLUDED = 0, 1  # places of those of a condition


class Reach(enum.StrEnum):
    """Which streams of the data set a layer summarises."""

    WHOLE = "whole"  # all of them, in one slot
    EACH = "each"  # every stream that appears, in a slot of its own
    NAMED = "named"  # those that synopses were created for

    @classmethod
    def of(cls, definition: Definition) -> Reach:
        """The reach that a definition's scope asks for."""
        if definition.scope == DATASET_SCOPE:
            return cls.WHOLE
        return cls.EACH if definition.stream is None else cls.NAMED


class Held(NamedTuple):
    """What a layer has of a stream, or of an interval of it."""

    synopsis: Synopsis | None
    tuples: int
    skipped: int  # tuples without a field that is read
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A synopsis as a snapshot keeps it: whose it is, and what lies in its slot."""

    stream: str | None
    tuples: int
    skipped: int
    state: bytes
    pane: tuple[int, int, int] | None = None  # number, first and last time


@dataclass(frozen=True, slots=True)
class StreamsHere:
    """All streams of a layer that knows their names."""

    names: list[str]
    hashes: NDArray[np.uint64]
    _slots: NDArray[np.int32]  # of all, stream by stream
    _starts: NDArray[np.int64]

    def slots(self, place: int) -> NDArray[np.int32]:
        """All slots of the stream that stands at a place in `names`."""
        end = self._starts[place + 1] if place + 1 < len(self._starts) else len(self._slots)
        return self._slots[self._starts[place] : end]


class Layer:
    """Without a window: each stream has one slot.

    A shard makes a layer for the first synopsis that needs it, calls `add` for each block of the
    data set, and asks it for the synopses of its streams. Streams are named by the first word of
    their name's hash; a layer of a whole data set has the one stream `WHOLE_STREAM`.
    """

    def __init__(self, store: Store, name: str, bank: Bank, definition: Definition) -> None:
        self.bank, self.name = bank, name
        self.reach = Reach.of(definition)
        self.key, self.values, self.time = definition.key, definition.values, definition.time
        self._key_fields = definition.key_fields
        self.window, self.idle = definition.window, definition.idle
        template = bank.template
        self._takes_each_key_once = takes_each_key_once(template)
        self._decimals = template.params["decimals"] if type(template).sums_weights else None
        self._where = definition.where
        self._condition = parse(definition.where) if definition.where else None
        self._condition_reads = paths(self._condition) if self._condition else frozenset()
        self._store = store
        self.table = SlotTable(store, f"{name}.table")
        self.names = StreamNames(store, f"{name}.names")
        self.tally: Counter[str] = Counter()  # tuples left out, by reason, until it is emptied
        self._map()

    def _array(self, name: str, rows: int, dtype: Any = np.int64) -> NDArray[Any]:
        return self._store.array(f"{self.name}.{name}", dtype, (), rows)

    def _map(self) -> None:
        self._left_out = self._array("shed", 3)
        if self._condition is not None:
            self._met = self._array("met", 2)
        if self.idle is not None:
            self._quiet_since = self._array("quiet_since", self.bank.used)

    def remap(self) -> None:
        """Take the arrays from the store again: another process may have changed them."""
        self.table.remap()
        self.names.remap()
        self._map()

    def move(self, new_slots: NDArray[np.int32]) -> None:
        """The bank was compacted: `new_slots` has the new number of each slot, by the old one.

        All that the layer keeps is written anew, so that it takes no more room than it needs.
        """
        hashes, slots = self.table.entries()
        names = Texts.of(self.names.of(slots)) if self.reach is Reach.EACH else None
        by_slot = {name: array[slots] for name, array in self._by_slot().items()}
        others = {name: array.copy() for name, array in self._other_arrays().items()}
        tables = [table.entries() for table in self._other_tables()]
        self._store.drop(self.name)
        self.remap()
        slots = new_slots[slots]
        self.table.insert(hashes, slots)
        if names is not None and len(slots):
            self.names.put(slots, names)
        for table, entries in zip(self._other_tables(), tables, strict=True):
            table.insert(*entries)
        self._map()
        for name, array in self._by_slot().items():
            array[slots] = by_slot[name]
        for name, array in self._other_arrays().items():
            array[:] = others[name]

    def _by_slot(self) -> dict[str, NDArray[Any]]:
        """The arrays with a row for each slot of the bank."""
        return {} if self.idle is None else {"quiet_since": self._quiet_since}

    def _other_arrays(self) -> dict[str, NDArray[Any]]:
        """All other arrays, as long as they are in use."""
        met = {} if self._condition is None else {"met": self._met[:2]}
        return {"shed": self._left_out[:3], **met}

    def _other_tables(self) -> list[SlotTable]:
        """Tables that do not lead to slots of the bank."""
        return []

    @property
    def reads_times(self) -> bool:
        """Whether ingest must keep the times of tuples."""
        return self._adds_times or TIME in self._condition_reads

    @property
    def _adds_times(self) -> bool:
        return self.window is not None or "times" in type(self.bank.template).reads

    @property
    def fields(self) -> set[str]:
        """The fields of tuples that ingest must keep."""
        read = {field for field in (*self._key_fields, *self.values, self.time) if field}
        return read | (self._condition_reads - {STREAM, TIME})

    @property
    def sharing(self) -> Sharing | None:
        """With whom it shares the distinct keys of a block; None: it is given every tuple."""
        if not self._takes_each_key_once:
            return None
        return Sharing(self.key, self._where, self.reach is Reach.WHOLE, self.window)

    # -- data -----------------------------------------------------------------------------------

    @property
    def shed(self) -> int:
        """Tuples left out because their stream found no room."""
        return int(self._left_out[SHED])

    def meant(self, selection: Selection) -> Selection:
        """The tuples that count: those that the synopses' condition is true of."""
        return selection if self._condition is None else selection.where(self._condition)

    def _count_met(self, selection: Selection) -> int:
        """Count the tuples of a block that the condition is true of; how many these are."""
        met = self._reached(self.meant(selection).block)
        if self._condition is not None:
            self._met[_INCLUDED] += met
            self._met[_EXCLUDED] += self._reached(selection.block) - met
        return met

    def _reached(self, block: Block) -> int:
        """How many tuples are of streams that this layer summarises."""
        if self.reach is not Reach.NAMED:
            return len(block)
        return int(np.count_nonzero(self._is_named(block.stream_hashes)[block.stream_of]))

    def miss(self, selection: Selection) -> None:
        """Count the tuples of a block that comes while the kind is quarantined."""
        missed = self._count_met(selection)
        self._left_out[MISSED] += missed
        self.tally["missed"] += missed

    def _is_named(self, streams: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """For which streams a synopsis was created."""
        return self.table.find(streams) >= 0

    @property
    def missed(self) -> int:
        """Tuples left out because the kind was quarantined when they came."""
        return int(self._left_out[MISSED])

    @property
    def unpromised(self) -> int:
        """Slots that streams took which nobody had promised them at creation."""
        return len(self.table) if self.reach is Reach.EACH else 0

    def add(self, selection: Selection, room: int, watermark: int | None) -> None:
        """Add a block; `room` slots may be made beyond those that were promised at creation.

        What needs more is shed.

        `watermark` is that of the data set, by the layer's own clock. Of a block that removes, all
        stays counted where tuples cannot be taken away.
        """
        if selection.block.removes and not self._can_remove:
            still_counted = self._count_met(selection)
            self._left_out[STILL_COUNTED] += still_counted
            self.tally["still_counted"] += still_counted
            return
        self._add_block(selection, room, watermark)

    @property
    def _can_remove(self) -> bool:
        """Whether a tuple can be taken away from where it was added."""
        return self.bank.subtracts

    def _add_block(self, selection: Selection, room: int, watermark: int | None) -> None:
        meant = self.meant(selection)
        slots = self._slots_of(meant, room)
        if len(meant.block):
            groups = meant.groups(self.reach is Reach.WHOLE)
            self._add(meant, groups, slots)
            if self.reach is not Reach.NAMED:
                self._shed(groups, slots)
        self._count_met(selection)

    def _shed(self, groups: Groups, slots: NDArray[np.int32]) -> None:
        """Count the tuples of groups that found no room."""
        if (slots < 0).any():
            shed = int(groups.sizes()[slots < 0].sum())
            self._left_out[SHED] += shed
            self.tally["shed"] += shed

    def _add(self, selection: Selection, groups: Groups, slots: NDArray[np.int32]) -> None:
        """Add each tuple to the slot of its group, if it has one and all fields that are read.

        Every group has a tuple.
        """
        if self.idle is not None:
            self._quiet_since[slots[slots >= 0]] = 0
        distinct = None
        if self.sharing is not None:
            distinct = selection.distinct_keys(self.sharing, self.values, self._decimals, groups)
        if distinct is not None:
            self._add_distinct(distinct, slots, selection.block.removes)
        else:
            self._add_tuples(selection, groups.spread(slots))

    def _add_distinct(
        self, distinct: DistinctKeys, slots: NDArray[np.int32], removes: bool
    ) -> None:
        """Add each distinct key of a group to its slot, if it has one, or take it away."""
        items, has_slot = distinct.items, slots >= 0
        of_items = slots.take(distinct.group_of)
        if not has_slot.all():
            rows = np.flatnonzero(of_items >= 0)
            of_items, items = of_items[rows], items.take(rows)
        tuples, skipped = distinct.tuples[has_slot], distinct.skipped[has_slot]
        owners = slots[has_slot]
        self.tally["skipped"] += int(skipped.sum())
        self.bank.add_sums(of_items, items, owners, tuples, skipped, removes=removes)

    def _add_tuples(self, selection: Selection, slots: NDArray[np.int32]) -> None:
        items, usable = self._items(selection, slots)
        has_slot, removes = slots >= 0, selection.block.removes
        added = has_slot if usable is None else has_slot & usable
        if added.all():
            self.bank.add(slots, items, removes=removes)
            return
        rows = np.flatnonzero(added)
        if len(rows):
            self.bank.add(slots[rows], items.take(rows), removes=removes)
        if usable is not None:
            lacking = slots[has_slot & ~usable]
            self.tally["skipped"] += len(lacking)
            self.bank.skip(lacking)

    def _items(
        self, selection: Selection, slots: NDArray[np.int32]
    ) -> tuple[Items, NDArray[np.bool_] | None]:
        """The items of a block, and which tuples have all that is read (None: every one)."""
        reads = type(self.bank.template).reads
        return selection.items(self.key, self.values, self.time, reads)

    def _slots_of(self, selection: Selection, room: int) -> NDArray[np.int32]:
        """The slot of each group, -1 for none."""
        block = selection.block
        if self.reach is Reach.WHOLE:
            return self._find_or_make(np.array([WHOLE_STREAM]), None, 1)
        if self.reach is Reach.NAMED:
            return self.table.find(block.stream_hashes)
        return self._find_or_make(block.stream_hashes, block.streams, room)

    def _find_or_make(
        self, hashes: NDArray[np.uint64], names: Texts | None, room: int
    ) -> NDArray[np.int32]:
        slots = self.table.find(hashes)
        missing = np.flatnonzero(slots < 0)[: max(room, 0)]
        if len(missing):
            slots[missing] = self._make(hashes[missing], names.take(missing) if names else None)
        return slots

    def _make(self, hashes: NDArray[np.uint64], names: Texts | None) -> NDArray[np.int32]:
        """New slots for hashes that have none."""
        slots = self.bank.allocate(len(hashes))
        self.table.insert(hashes, slots)
        if names is not None:
            self.names.put(slots, names)
        self._map()
        if self.idle is not None:
            self._quiet_since[slots] = 0
        return slots

    def _free(self, hashes: NDArray[np.uint64], slots: NDArray[np.int32]) -> None:
        """Give slots back; `hashes` are their keys in the table."""
        if len(slots):
            self.bank.free(slots)
            self.names.forget(slots)
            self.table.remove(hashes)

    def begin_stream(self, stream: np.uint64) -> None:
        """A synopsis for this stream was created."""
        self._make(np.array([stream]), None)

    def drop_stream(self, stream: np.uint64) -> None:
        """Give back what one stream holds."""
        hashes = np.array([stream])
        slots = self.table.find(hashes)
        self._free(hashes[slots >= 0], slots[slots >= 0])

    def clear(self) -> None:
        """Give back what all streams hold."""
        self._free(*self.table.entries())

    def sweep(self, tick: int) -> None:
        """Forget the streams that were idle for too long.

        A tuple came some time between two ticks; idleness counts from the second of them, so that
        no stream goes before its time.
        """
        if self.idle is None:
            return
        hashes, slots = self.table.entries()
        since = self._quiet_since[slots]
        self._quiet_since[slots[since == 0]] = tick
        active = (since == 0) | (since > tick - self.idle)
        owners = self._owners(hashes, slots)
        gone = ~np.isin(owners, owners[active])
        self._free(hashes[gone], slots[gone])

    def _owners(self, hashes: NDArray[np.uint64], slots: NDArray[np.int32]) -> NDArray[np.uint64]:
        """The stream that each slot belongs to, for entries of the table."""
        return hashes

    # -- questions ------------------------------------------------------------------------------

    def slots(self, stream: np.uint64 | None) -> NDArray[np.int32]:
        """All slots of a stream, or of the whole layer."""
        if stream is None:
            return self.table.entries()[1]
        slots = self.table.find(np.array([stream]))
        return slots[slots >= 0]

    def synopsis(self, stream: np.uint64) -> Held | None:
        """The synopsis of a stream, None if there is none."""
        return self.synopsis_in(self.slots(stream))

    def synopsis_in(self, slots: NDArray[np.int32]) -> Held | None:
        """That of a stream with these slots: it has one, or none."""
        return self._held(self.bank.at(slots[0]), slots) if len(slots) else None

    def _held(
        self,
        synopsis: Synopsis | None,
        slots: NDArray[np.int32],
        interval: Interval | None = None,
    ) -> Held:
        """A synopsis that was made from these slots."""
        tuples, skipped = self.bank.tuples[slots].sum(), self.bank.skipped[slots].sum()
        return Held(synopsis, int(tuples), int(skipped), interval)

    def left_out(self, skipped: int) -> LeftOut:
        """Why tuples are not in a synopsis of this layer that skipped so many.

        A stream of its own that is kept found room for all of its tuples.
        """
        shed = 0 if self.reach is Reach.EACH else self.shed
        still_counted = int(self._left_out[STILL_COUNTED])
        left_out = LeftOut(
            skipped=skipped, shed=shed, missed=self.missed, still_counted=still_counted
        )
        if self._condition is None:
            return left_out
        included, excluded = self._met[:2].tolist()
        return replace(left_out, included=included, excluded=excluded)

    def streams_here(self) -> StreamsHere:
        """All streams, in no order; of a layer that reaches each."""
        hashes, slots = self.table.entries()
        owners = self._owners(hashes, slots)
        order = np.argsort(owners, kind="stable")
        streams, starts = np.unique(owners[order], return_index=True)
        slots = slots[order]
        return StreamsHere(self.names.of(slots[starts]), streams, slots, starts)

    def figures(self, stream: np.uint64 | None) -> dict[str, int]:
        """What `list` and `describe` say of a stream, or of the whole layer."""
        slots = self.slots(stream)
        figures = {**self.figures_of(slots), "shed": self.shed}
        if isinstance(self.bank.template, Remote):  # nothing else is ever quarantined
            figures["missed"] = self.missed
        if self._condition is not None:
            figures["excluded"] = int(self._met[_EXCLUDED])
        return {**figures, "streams": len(slots) if self.reach is Reach.EACH else 0}

    def figures_of(self, slots: NDArray[np.int32]) -> dict[str, int]:
        """What some slots hold: the figures that every stream has of its own."""
        return {
            "tuples": int(self.bank.tuples[slots].sum()),
            "skipped": int(self.bank.skipped[slots].sum()),
            "bytes": self.bank.bytes_of(slots) + self._own_bytes(len(slots)),
        }

    def _own_bytes(self, slots: int) -> int:
        """What the layer itself takes for some of its slots."""
        share = slots / max(1, len(self.table))
        return slots * self._slot_bytes + round(share * self._index_bytes)

    @property
    def _slot_bytes(self) -> int:
        """Of the layer's arrays that have a row for each slot."""
        name = _NAME_BYTES if self.reach is Reach.EACH else 0
        return name + (_QUIET_BYTES if self.idle is not None else 0)

    @property
    def _index_bytes(self) -> int:
        """Of the layer's tables, which do not have a row for each slot."""
        return self.table.bytes_held + self.names.bytes_held

    # -- exchange -------------------------------------------------------------------------------

    def kept(self, stream: np.uint64 | None) -> Iterator[Kept]:
        """What a snapshot keeps of a stream, or of all."""
        for slot in self.slots(stream).tolist():
            yield self._kept(slot)

    def _kept(self, slot: int) -> Kept:
        name = self.names.of(np.array([slot]))[0] if self.reach is Reach.EACH else None
        tuples, skipped = int(self.bank.tuples[slot]), int(self.bank.skipped[slot])
        return Kept(name, tuples, skipped, self.bank.at(slot).to_bytes())

    def put(self, stream: np.uint64, kept: Kept, synopsis: Synopsis) -> None:
        """Add what a snapshot kept of a stream to what is here, or begin with it.

        `synopsis` is made from `kept.state`, which the caller has checked.
        """
        names = Texts.of([kept.stream]) if kept.stream is not None else None
        slot = int(self._find_or_make(np.array([stream]), names, 1)[0])
        self.bank.absorb(slot, synopsis, kept.tuples, kept.skipped)
