"""One shard: its copy of the registry, its banks and layers, all resting in a store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import mmh3
import numpy as np

from sde.bank import ArrayBank, Bank, open_bank
from sde.block import Block
from sde.layer import Layer, Reach
from sde.limits import StateLimits
from sde.messages import DATASET_SCOPE, Create, Definition, Delete
from sde.registry import Instance, Registry, template_of
from sde.selection import Selection
from sde.store import Store
from synopses import Streams, Synopsis
from synopses.hashing import hash_key

_REGISTRY = "registry"


def stream_hash(stream: str) -> np.uint64:
    """What a stream is known by in tables and routing."""
    return np.uint64(hash_key(stream)[0, 0])


def shard_of(dataset: str, stream: str, shards: int) -> int:
    """The shard that keeps a stream."""
    return int((stream_hash(stream) ^ stream_hash(dataset)) % np.uint64(shards))


@dataclass(frozen=True, slots=True)
class Needs:
    """What the synopses of a data set read of its blocks."""

    fields: frozenset[str]
    times: bool
    ids: bool


class Shard:
    def __init__(self, number: int, of: int, store: Store, limits: StateLimits) -> None:
        self.number, self.of = number, of
        self._store, self._limits = store, limits
        held = store.read_blob(_REGISTRY)
        self.registry = Registry.from_bytes(held, limits) if held else Registry(limits)
        self._banks: dict[str, Bank] = {}
        self._layers: dict[str, Layer] = {}
        self._users: dict[str, int] = {}  # how many instances use a bank or a layer
        self._of_dataset: dict[str, dict[str, Layer]] = {}
        self._registry_changed = False
        for instance in self.registry.instances.values():
            self._open(instance)

    # -- requests that change ---------------------------------------------------------------------

    def create(self, request: Create, time: int) -> Instance:
        """Refusal if the registry refuses."""
        instance, new = self.registry.create(request, time)
        self._registry_changed = True
        if new:
            layer = self._open(instance)
            stream = instance.definition.stream
            if stream is not None and self._owns(instance.definition):
                layer.make(np.array([stream_hash(stream)]), None)
        return instance

    def delete(self, request: Delete) -> Instance:
        instance, last = self.registry.delete(request.uid)
        self._registry_changed = True
        if last:
            self._close(instance)
        return instance

    def remember(self, request_id: str, outcome: dict[str, Any]) -> None:
        self.registry.remember(request_id, outcome)
        self._registry_changed = True

    def _owns(self, definition: Definition) -> bool:
        assert definition.stream is not None
        return shard_of(definition.dataset, definition.stream, self.of) == self.number

    def _open(self, instance: Instance) -> Layer:
        definition, layer_key = instance.definition, instance.layer
        bank_key = instance.bank
        if bank_key not in self._banks:
            name = _store_name("bank", bank_key)
            self._banks[bank_key] = open_bank(self._store, name, template_of(definition))
        if layer_key not in self._layers:
            self._layers[layer_key] = Layer(
                self._store,
                _store_name("layer", layer_key),
                self._banks[bank_key],
                _reach(definition),
                definition.key,
                definition.values,
            )
            layers = self._of_dataset.setdefault(definition.dataset, {})
            layers[layer_key] = self._layers[layer_key]
        for key in (bank_key, layer_key):
            self._users[key] = self._users.get(key, 0) + 1
        return self._layers[layer_key]

    def _close(self, instance: Instance) -> None:
        layer_key, bank_key = instance.layer, instance.bank
        layer = self._layers[layer_key]
        if instance.definition.stream is not None:
            layer.drop_stream(stream_hash(instance.definition.stream))
        else:
            layer.drop_all()
        for key in (layer_key, bank_key):
            self._users[key] -= 1
        if not self._users[layer_key]:
            del self._users[layer_key], self._layers[layer_key]
            layers = self._of_dataset[instance.definition.dataset]
            del layers[layer_key]
            self._store.drop(f"{layer.name}.")
        if not self._users[bank_key]:
            del self._users[bank_key], self._banks[bank_key]
            self._store.drop(f"{layer.bank.name}.")

    # -- data -------------------------------------------------------------------------------------

    def needs(self, dataset: str) -> Needs | None:
        """What is read of this data set's blocks; None if nothing."""
        layers = self._of_dataset.get(dataset, {}).values()
        if not layers:
            return None
        read = frozenset().union(*(type(layer.bank.template).reads for layer in layers))
        fields = {f for layer in layers for f in (layer.key, *layer.values) if f}
        return Needs(frozenset(fields), "times" in read, "ids" in read)

    def add(self, block: Block) -> None:
        selection = Selection(block)
        for layer in self._of_dataset.get(block.dataset, {}).values():
            layer.add(selection, self._room(layer))

    def _room(self, layer: Layer) -> int:
        """How many more slots a layer may take."""
        free_bytes = self._limits.max_shard_bytes - self.bytes_held()
        by_bytes = free_bytes // max(1, layer.bank.template.memory)
        return min(self._limits.max_streams - len(layer.table), by_bytes)

    def bytes_held(self) -> int:
        return sum(bank.bytes_held() for bank in self._banks.values())

    def save(self) -> None:
        """Bring the store up to date."""
        for bank in self._banks.values():
            bank.save()
        if self._registry_changed:
            self._store.write_blob(_REGISTRY, self.registry.to_bytes())
            self._registry_changed = False

    # -- questions --------------------------------------------------------------------------------

    def template(self, instance: Instance) -> Synopsis:
        """An empty synopsis of an instance's kind and parameters."""
        return self._banks[instance.bank].template

    def synopsis(self, instance: Instance, stream: str | None) -> tuple[Synopsis, int] | None:
        """This shard's part of a synopsis and the tuples in it, or None if it has none."""
        layer = self._layers[instance.layer]
        slot = layer.slot_of(None if stream is None else stream_hash(stream))
        return (layer.bank.at(slot), int(layer.bank.tuples[slot])) if slot >= 0 else None

    def streams(self, instance: Instance) -> tuple[Streams, int]:
        """All streams of a synopsis kept here (arrays of the across questions only)."""
        layer = self._layers[instance.layer]
        slots = np.sort(layer.table.entries()[1])
        assert isinstance(layer.bank, ArrayBank)
        wanted = layer.bank.template.across_arrays
        arrays = {n: a[slots] for n, a in layer.bank.arrays.items() if n in wanted or not wanted}
        return Streams(layer.names.of(slots), arrays), int(layer.bank.tuples[slots].sum())

    def figures(self, instances: Iterable[Instance]) -> list[dict[str, int]]:
        """What this shard holds of each instance."""
        return [self._figures(instance) for instance in instances]

    def _figures(self, instance: Instance) -> dict[str, int]:
        layer = self._layers[instance.layer]
        if instance.definition.stream is not None:
            slot = layer.slot_of(stream_hash(instance.definition.stream))
            slots = np.array([slot] if slot >= 0 else [], np.int32)
        else:
            slots = layer.table.entries()[1]
        return {
            "tuples": int(layer.bank.tuples[slots].sum()),
            "skipped": int(layer.bank.skipped[slots].sum()),
            "shed": layer.shed,
            "streams": len(slots) if layer.reach is Reach.EACH else 0,
            "bytes": layer.bank.bytes_of(slots),
        }


def _reach(definition: Definition) -> Reach:
    if definition.scope == DATASET_SCOPE:
        return Reach.WHOLE
    return Reach.EACH if definition.stream is None else Reach.NAMED


def _store_name(what: str, key: str) -> str:
    return f"{what}-{mmh3.hash128(key.encode()):032x}"
