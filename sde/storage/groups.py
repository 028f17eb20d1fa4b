"""Some groups of a store, by themselves: written down, brought back, copied under other names.

A group is what a name has before its first dot: a bank or a layer is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from sde.storage.chunks import dump, load
from sde.storage.store import Store
from sde.wire.framing import pack, unpack


@dataclass(frozen=True, slots=True)
class _Some:
    """What a store holds of some groups."""

    store: Store
    groups: Collection[str]

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        return (found for group in sorted(self.groups) for found in self.store.arrays(group))

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        return (found for group in sorted(self.groups) for found in self.store.blobs(group))


def dump_groups(store: Store, groups: Collection[str]) -> bytes:
    """All that the store holds of these groups.

    >>> import numpy as np
    >>> from sde.storage.store import MemoryStore
    >>> store = MemoryStore()
    >>> store.array("bank.tuples", np.int64, (), 4)[2] = 7
    >>> held = dump_groups(store, ["bank"])
    >>> store.array("bank.tuples", np.int64, (), 4)[2] = 8
    >>> load_groups(store, ["bank"], held)
    >>> copy_group(store, "bank", "other")
    >>> int(store.array("other.tuples", np.int64, (), 4)[2])
    7
    """
    return pack(list(dump(_Some(store, groups))))


def load_groups(store: Store, groups: Collection[str], data: bytes) -> None:
    """Put back what `dump_groups` wrote; arrays that were handed out before are outdated."""
    for group in groups:
        store.drop(group)
    load(store, unpack(data))


def copy_group(store: Store, group: str, to: str) -> None:
    """The same arrays and blobs again, as another group, which must be empty."""
    for name, array in list(store.arrays(group)):
        copied = store.array(_renamed(name, to), array.dtype, array.shape[1:], len(array))
        copied[: len(array)] = array
    for name, blob in list(store.blobs(group)):
        store.write_blob(_renamed(name, to), blob)


def _renamed(name: str, group: str) -> str:
    return f"{group}.{name.partition('.')[2]}"
