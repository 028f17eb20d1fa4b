"""The registry's facts as they rest in a store."""

from __future__ import annotations

from sde.registry.registry import Registry
from sde.storage.fact_file import FactFile
from sde.storage.store import Store


class RegistryFile(FactFile):
    def __init__(self, store: Store, registry: Registry) -> None:
        super().__init__(store, "registry", registry)
        self._registry = registry

    def read(self) -> None:
        super().read()
        self._registry.watches.ended.clear()  # who wrote it has told of them
