"""One shard: its copy of the registry, its banks and layers, all resting in a store."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

import mmh3
import numpy as np

from sde.banks.bank import ArrayBank, Bank, open_bank
from sde.banks.count_windows import CountedLayer
from sde.banks.layer import WHOLE_STREAM, Kept, Layer, Reach
from sde.banks.ordinals import OrdinalLayer
from sde.banks.panes import PanedLayer
from sde.banks.selection import Selection
from sde.limits import StateLimits
from sde.plugins.failure import PluginFailure
from sde.records.loop import Reached
from sde.registry.registry import Instance, Registry
from sde.registry.registry_file import RegistryFile
from sde.registry.watermarks import later
from sde.storage.fact_file import FactFile
from sde.storage.facts import Factual
from sde.storage.groups import copy_group, dump_groups, load_groups
from sde.storage.store import Store
from sde.tuples.block import Block
from sde.tuples.needs import Needs, NeedsByDataset
from sde.wire import DATASET_SCOPE, Code, Definition, Refusal
from sde.wire.windows import ARRIVAL
from synopses import Streams, Synopsis
from synopses.hashing import hash_key

_WRONG_CLOCK = 600_000  # ms that an arrival may be ahead of the engine's clock


@lru_cache(maxsize=1 << 16)
def stream_hash(stream: str) -> np.uint64:
    """What a stream is known by in tables and routing."""
    return np.uint64(hash_key(stream)[0, 0])


def shard_of(dataset: str, stream: str, shards: int) -> int:
    """The shard that keeps a stream."""
    return int((stream_hash(stream) ^ stream_hash(dataset)) % np.uint64(shards))


class Shard:
    """`beside`: what else rests in the shard's store as facts, by its name there."""

    def __init__(
        self,
        number: int,
        of: int,
        store: Store,
        limits: StateLimits,
        beside: Mapping[str, Factual] | None = None,
    ) -> None:
        self.number, self.of = number, of
        self._store, self.limits = store, limits
        self._banks: dict[str, Bank] = {}
        self._layers: dict[str, Layer] = {}
        self._users: dict[str, int] = {}  # how many instances use a bank or a layer
        self._wanted: NeedsByDataset | None = None  # not looked up yet
        self.failures: list[PluginFailure] = []  # that nobody was told of yet
        self.left_out: Counter[str] = Counter()  # tuples by reason, since it was last emptied
        self._of_dataset: dict[str, dict[str, Layer]] = {}
        self.registry = Registry(limits, of)
        self.beside = dict(beside or {})
        self._files: list[FactFile] = [RegistryFile(store, self.registry)]
        self._files += [FactFile(store, name, holder) for name, holder in self.beside.items()]
        for file in self._files:
            file.read()
        self._follow_registry()

    def refresh(self) -> bool:
        """Catch up with what another process did to the store; False if that needs a new shard."""
        if not self.catch_up():
            return False
        for bank in self._banks.values():
            bank.remap()
        for layer in self._layers.values():
            layer.remap()
        return True

    def catch_up(self) -> bool:
        """The same, without the arrays of synopses: `remap` sees to those of one."""
        if not all(file.only_grew for file in self._files):
            return False
        for file in self._files:
            file.read()
        self._follow_registry()
        return True

    def remap(self, instance: Instance) -> None:
        """Take the arrays of a synopsis from the store again."""
        self._banks[instance.bank].remap()
        self._layers[instance.layer].remap()

    # -- the registry tells what comes and goes ----------------------------------------------------

    def _follow_registry(self) -> None:
        came, went = self.registry.take_changes()
        for instance in went:
            self._close(instance)
        for instance in came:
            self._open(instance)

    def _open(self, instance: Instance) -> None:
        definition = instance.definition
        if instance.bank not in self._banks:
            name = _store_name("bank", instance.bank)
            self._banks[instance.bank] = open_bank(self._store, name, instance.template())
        if instance.layer not in self._layers:
            name = _store_name("layer", instance.layer)
            layer = _layer_class(instance)(
                self._store, name, self._banks[instance.bank], definition
            )
            layer.tally = self.left_out
            self._layers[instance.layer] = layer
            self._wanted = None
            self._of_dataset.setdefault(definition.dataset, {})[instance.layer] = layer
        for key in (instance.bank, instance.layer):
            self._users[key] = self._users.get(key, 0) + 1

    def _close(self, instance: Instance) -> None:
        for key in (instance.bank, instance.layer):
            self._users[key] -= 1
        if not self._users[instance.layer]:
            del self._users[instance.layer], self._layers[instance.layer]
            del self._of_dataset[instance.definition.dataset][instance.layer]
            self._wanted = None
        if not self._users[instance.bank]:
            del self._users[instance.bank], self._banks[instance.bank]

    # -- requests that change ------------------------------------------------------------------

    def create(
        self,
        uid: str,
        definition: Definition,
        since: int,
        *,
        reuse: bool = False,
        lifetime: int | None = None,
    ) -> Instance:
        """The instance of a uid, new or not; Refusal if the registry refuses."""
        instance, new = self.registry.create(uid, definition, since, reuse=reuse, lifetime=lifetime)
        self._follow_registry()
        stream = instance.definition.stream
        if new and stream is not None and self.owns(instance.definition, stream):
            self._layers[instance.layer].begin_stream(stream_hash(stream))
        return instance

    def delete(self, uid: str) -> Instance:
        instance = self.registry.instance(uid)
        ends = [instance] if instance.uids == [uid] else []
        self._end(ends, lambda: self.registry.delete(uid))
        return instance

    def _end(self, instances: list[Instance], change: Callable[[], object]) -> None:
        """Do what makes the registry forget these instances, and give back what they hold."""
        layers = {i.layer: self._layers[i.layer].name for i in instances}
        banks = {i.bank: self._banks[i.bank].name for i in instances}
        for instance in instances:
            self._clear(instance)
        change()
        self._follow_registry()
        unused = [name for key, name in layers.items() if key not in self._layers]
        unused += [name for key, name in banks.items() if key not in self._banks]
        for name in unused:
            self._store.drop(name)

    def _clear(self, instance: Instance) -> None:
        layer, stream = self._layers[instance.layer], instance.definition.stream
        if stream is None:
            layer.clear()
        elif self.owns(instance.definition, stream):
            layer.drop_stream(stream_hash(stream))

    def owns(self, definition: Definition, stream: str) -> bool:
        return shard_of(definition.dataset, stream, self.of) == self.number

    def put(
        self, instance: Instance, kept: Iterable[tuple[Kept, Synopsis]], only_own: bool = False
    ) -> None:
        """Add synopses that were kept elsewhere; what belongs to other shards is left out.

        `only_own`: this shard kept them, so they are all its own.
        """
        definition, layer = instance.definition, self._layers[instance.layer]
        for one, synopsis in kept:
            stream = definition.stream or one.stream
            if stream is None:
                if only_own or self.number == 0:
                    layer.put(WHOLE_STREAM, one, synopsis)
            elif self.owns(definition, stream):
                layer.put(stream_hash(stream), one, synopsis)

    def empty(self, instance: Instance) -> None:
        """Forget what a synopsis holds; it stays."""
        self._clear(instance)
        stream = instance.definition.stream
        if stream is not None and self.owns(instance.definition, stream):
            self._layers[instance.layer].begin_stream(stream_hash(stream))

    def forget_stream(self, instance: Instance, stream: str) -> None:
        """Forget what one stream of a synopsis for each stream holds."""
        self._layers[instance.layer].drop_stream(stream_hash(stream))

    def kept(self, instance: Instance) -> Iterator[Kept]:
        """What a snapshot keeps of this shard's part of a synopsis."""
        stream = instance.definition.stream
        return self._layers[instance.layer].kept(None if stream is None else stream_hash(stream))

    # -- time ------------------------------------------------------------------------------------

    def tick(self, time: int, caught_up: bool = False, left: dict[str, int] | None = None) -> None:
        """Let the clock go on: what has outlived its time goes.

        `caught_up`: all that had come until then was read; `left`: what was not, by partition.
        """
        self.registry.tick(time, caught_up, left)
        now = self.registry.time
        for uid in [u for u, at in self.registry.expiries.items() if at <= now]:
            self.delete(uid)
        for layer in self._layers.values():
            layer.sweep(now)
        for holder in self.beside.values():
            holder.on_tick(now)

    def advance(self, dataset: str, clock: str, time: int | None, reached: Reached) -> None:
        """Let a data set's watermark go on, if there is one yet: panes that are too old go."""
        self.registry.advance(dataset, clock, time, reached)
        if time is None:
            return
        for layer in self.paned(dataset):
            if layer.window.clock == clock:
                layer.expire(time)

    def paned(self, dataset: str) -> list[PanedLayer]:
        layers = self._of_dataset.get(dataset, {}).values()
        return [layer for layer in layers if isinstance(layer, PanedLayer)]

    def next_due(self) -> int | None:
        """When something here must happen by the clock; None: nothing is waiting for it."""
        registry = self.registry
        waiting = [
            registry.watches.next_due(),
            registry.watermarks.next_due(registry.time),
            registry.next_forgotten(),
            *(holder.next_due() for holder in self.beside.values()),
            *registry.expiries.values(),
        ]
        for layers in self._of_dataset.values():
            for layer in layers.values():
                if layer.idle is not None:
                    waiting.append(registry.time + max(1000, layer.idle // 4))
                elif layer.window is not None and layer.window.time == ARRIVAL:
                    waiting.append(registry.time + max(1000, layer.window.pane))
        return min((at for at in waiting if at is not None), default=None)

    def clocks_of(self, field: str) -> list[tuple[str, str]]:
        """Data set and clock of all windows that tell the time by a field."""
        found = {
            (dataset, layer.window.clock)
            for dataset in self._of_dataset
            for layer in self.paned(dataset)
            if layer.window.time == field
        }
        return sorted(found)

    def is_arrival_of_the_future(self, dataset: str, clock: str, time: int | None) -> bool:
        """Whether tuples say they arrived at a time that is not yet.

        Where topics have the times of producers, arrival is what their clocks say. The last tick
        is as old as a pane at most.
        """
        now = self.registry.time
        panes = [
            layer.window.pane
            for layer in self.paned(dataset)
            if layer.window.time == ARRIVAL and layer.window.clock == clock
        ]
        if time is None or not panes or not now:
            return False
        return time > now + max(panes) + _WRONG_CLOCK

    def clocks(self, dataset: str) -> dict[str, Reached]:
        """How far the tuples of this batch are, by clock and partition."""
        reached: dict[str, Reached] = {}
        for layer in self.paned(dataset):
            if layer.reached:
                clock = layer.window.clock
                reached[clock] = later(reached.get(clock, {}), layer.reached)
                layer.reached = {}
        return reached

    def forget_progress(self) -> None:
        """After a replay: how far the replayed tuples were was reported when they came."""
        for dataset in self._of_dataset:
            self.clocks(dataset)

    # -- data ----------------------------------------------------------------------------------

    @property
    def wanted(self) -> NeedsByDataset:
        """What is read of all data sets."""
        if self._wanted is None:
            needs = {dataset: self._needs(dataset) for dataset in self._of_dataset}
            self._wanted = NeedsByDataset(
                {name: needed for name, needed in needs.items() if needed}
            )
        return self._wanted

    def _needs(self, dataset: str) -> Needs | None:
        layers = self._of_dataset[dataset].values()
        if not layers:
            return None
        fields = frozenset().union(*(layer.fields for layer in layers))
        ids = any("ids" in type(layer.bank.template).reads for layer in layers)
        return Needs(fields, any(layer.reads_times for layer in layers), ids)

    def add(self, block: Block) -> None:
        layers = self._of_dataset.get(block.dataset, {}).values()
        selection = Selection(block, Counter(layer.sharing for layer in layers))
        watermarks = self.registry.watermarks
        free = self._free_bytes(block.dataset)
        for layer in layers:
            if layer.bank.template.kind in self.registry.shelf.reasons:
                layer.miss(selection)
                continue
            clock = layer.window and layer.window.clock
            watermark = watermarks.get(block.dataset, clock) if clock else None
            held = _bytes([layer])
            try:
                layer.add(selection, self._room(layer, free), watermark)
            except PluginFailure as failure:
                self.quarantine(failure)
                layer.miss(selection)
            free -= _bytes([layer]) - held

    def held(self, dataset: str) -> tuple[int, int]:
        """Bytes that this shard holds of a data set beyond what was promised, as limits count them,
        and streams of the synopsis without a window that has the most."""
        layers = self._of_dataset.get(dataset, {}).values()
        each = [len(one.table) for one in layers if one.reach is Reach.EACH and one.window is None]
        return _bytes(layers), max(each, default=0)

    @property
    def datasets(self) -> list[str]:
        """Those that there are synopses of."""
        return sorted(name for name, layers in self._of_dataset.items() if layers)

    def quarantine(self, failure: PluginFailure) -> Refusal:
        """Call a plug-in no more; what its users are told."""
        shelf = self.registry.shelf
        if failure.kind not in shelf.reasons:
            self.registry.shelve("quarantined", failure.kind, failure.reason)
            self.failures.append(failure)
        return Refusal(
            Code.QUARANTINED, f"{failure.kind} misbehaved: {shelf.reasons[failure.kind]}", "kind"
        )

    def states_of(self, kind: str) -> bytes:
        """All that is kept here of the synopses of a kind."""
        for bank in self._banks.values():
            if bank.template.kind == kind:
                bank.save()
        return dump_groups(self._store, self._groups_of(kind))

    def put_states_of(self, kind: str, states: bytes) -> None:
        """Bring back what `states_of` gave; the synopses must be those of then."""
        load_groups(self._store, self._groups_of(kind), states)
        for bank in self._banks.values():
            if bank.template.kind == kind:
                bank.remap()
        for layer in self._layers.values():
            if layer.bank.template.kind == kind:
                layer.remap()

    def _groups_of(self, kind: str) -> set[str]:
        """Where the synopses of a kind rest in the store."""
        banks = {bank.name for bank in self._banks.values() if bank.template.kind == kind}
        layers = self._layers.values()
        return banks | {layer.name for layer in layers if layer.bank.template.kind == kind}

    # -- a version of a plug-in takes the place of an older one ------------------------------------

    def open_twins(self, twins: list[tuple[Instance, Instance]], *, filled: bool) -> None:
        """Begin the second of each pair, an instance that the registry just got.

        `filled`: it gets the slots and the tables of the first, and no states yet.
        """
        if filled:
            banks = {new.bank: self._banks[old.bank] for old, new in twins}
            for key, bank in banks.items():
                bank.begin_twin(_store_name("bank", key))
            layers = {new.layer: self._layers[old.layer] for old, new in twins}
            for key, layer in layers.items():
                copy_group(self._store, layer.name, _store_name("layer", key))
        self._follow_registry()

    def move(self, moves: list[tuple[int, int]]) -> None:
        """Let the uids of the first of each pair name the second, and end the first."""
        instances = self.registry.instances

        def change() -> None:
            for one, other in moves:
                self.registry.move(one, other)

        self._end([instances[one] for one, _ in moves], change)

    def forget(self, numbers: list[int]) -> None:
        """End instances that no uid names."""
        instances = self.registry.instances

        def change() -> None:
            for number in numbers:
                self.registry.forget(number)

        self._end([instances[number] for number in numbers], change)

    def bank(self, instance: Instance) -> Bank:
        return self._banks[instance.bank]

    def has_room_for(self, twins: list[tuple[Instance, Instance]]) -> bool:
        """Whether what was not promised to synopses may be held again by their twins."""
        needed: dict[str, int] = defaultdict(int)
        for layer, new in {
            old.layer: (self._layers[old.layer], new) for old, new in twins
        }.values():
            needed[new.definition.dataset] += layer.unpromised * new.template().memory
        return all(size <= self._free_bytes(dataset) for dataset, size in needed.items())

    def _free_bytes(self, dataset: str) -> int:
        """What this shard may still take for streams and panes of a data set.

        That is its share of what the engine may hold and has not promised to others.
        """
        limits, promised = self.limits, self.registry.promised
        return min(
            (limits.max_bytes - promised()) // self.of - _bytes(self._layers.values()),
            (limits.max_dataset_bytes - promised(dataset)) // self.of
            - _bytes(self._of_dataset[dataset].values()),
        )

    def _room(self, layer: Layer, free: int) -> int:
        """How many slots a layer may take beyond those that were promised at creation."""
        panes = layer.window.panes if layer.window else 1
        streams = max(1, (self.limits.max_streams + self.of - 1 - self.number) // self.of)
        slots = streams * panes - len(layer.table)
        return min(slots, free // max(1, layer.bank.template.memory))

    def has_room(self, instance: Instance, stream: str) -> bool:
        """Whether a stream has its synopsis here, or may get one."""
        definition, layer = instance.definition, self._layers[instance.layer]
        known = not self.owns(definition, stream) or len(layer.slots(stream_hash(stream))) > 0
        return known or self._room(layer, self._free_bytes(definition.dataset)) > 0

    def save(self) -> None:
        """Bring the store up to date, and give back what banks do not need."""
        for bank in self._banks.values():
            if bank.is_sparse(layers=0):
                self._compact(bank)
        for bank in self._banks.values():
            bank.save()
        for file in self._files:
            file.write()

    def _compact(self, bank: Bank) -> None:
        layers = [layer for layer in self._layers.values() if layer.bank is bank]
        if bank.is_sparse(len(layers)):
            new_slots = bank.compact()
            for layer in layers:
                layer.move(new_slots)

    # -- questions -----------------------------------------------------------------------------

    def template(self, instance: Instance) -> Synopsis:
        """An empty synopsis of an instance's kind and parameters."""
        return self._banks[instance.bank].template

    def layer(self, instance: Instance) -> Layer:
        return self._layers[instance.layer]

    def streams(self, instance: Instance) -> tuple[Streams, int]:
        """All streams of a synopsis kept here (arrays of the across questions only).

        To be read before anything is added: the arrays may be those of the bank itself.
        """
        layer = self._layers[instance.layer]
        slots = np.sort(layer.table.entries()[1])
        assert isinstance(layer.bank, ArrayBank)
        wanted = layer.bank.template.across_arrays or layer.bank.arrays
        gapless = len(slots) and slots[-1] - slots[0] == len(slots) - 1
        rows = slice(slots[0], slots[-1] + 1) if gapless else slots  # a slice copies nothing
        arrays = {n: a[rows] for n, a in layer.bank.arrays.items() if n in wanted}
        return Streams(layer.names.of(slots), arrays), int(layer.bank.tuples[rows].sum())

    def figures(self, instances: Iterable[Instance]) -> list[dict[str, int]]:
        """What this shard holds of each instance."""
        told = []
        for instance in instances:
            stream = instance.definition.stream
            layer = self._layers[instance.layer]
            told.append(layer.figures(None if stream is None else stream_hash(stream)))
        return told


def _layer_class(instance: Instance) -> type[Layer]:
    window = instance.definition.window
    if window is None:
        return Layer
    if not instance.has_panes:
        return OrdinalLayer
    return CountedLayer if window.count else PanedLayer


def stream_key(definition: Definition, stream: str | None) -> np.uint64:
    """What stands for a stream, or for the whole data set, in a layer."""
    if definition.scope == DATASET_SCOPE:
        return WHOLE_STREAM
    assert stream is not None
    return stream_hash(stream)


def _bytes(layers: Iterable[Layer]) -> int:
    """What is held beyond what was promised at creation.

    That is what streams hold that came by themselves, and panes beyond those of an even flow.
    """
    return sum(layer.unpromised * layer.bank.template.memory for layer in layers)


def _store_name(what: str, key: str) -> str:
    return f"{what}-{mmh3.hash128(key.encode()):032x}"
