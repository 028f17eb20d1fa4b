"""Each distinct key of a block once, for kinds that get the same state from that.

Such a kind costs a block's distinct keys and not its tuples. They are found once for all synopses
of a field, which costs about as much as adding every tuple to one synopsis.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sde.banks.groups import Groups
from sde.kernels import distinct_keys as kernel
from sde.plugins.remote import Remote
from synopses import Items, Synopsis

_SEED = np.uint64(secrets.randbits(64))  # no result depends on it
_SHORT = 1024  # tuples: a shorter block is added before its keys are sorted out
_SHARE = 2  # tuples to a distinct key, or more: else they are as well added one by one
_SAMPLE, _REPEATS = 16, 64  # of one in 16 tuples, fewer than one in 64 repeats a key: not tried


def takes_each_key_once(template: Synopsis) -> bool:
    """Whether a kind has the same state, byte for byte, if it is given each distinct key once.

    An idempotent kind that reads nothing but keys does, in order of first appearance; so does one
    that adds up weights, with their sums. Plug-ins get every tuple: nothing is known of them but
    what they declare.
    """
    kind = type(template)
    if isinstance(template, Remote):
        return False
    keys_only = kind.reads == {"keys"} and kind.idempotent and kind.order_free
    return keys_only or kind.sums_weights


class Numbered(NamedTuple):
    """The distinct (group, key) of a block, in order of first appearance."""

    keys: NDArray[np.uint64]
    group_of: NDArray[np.int32]  # of each
    number_of: NDArray[np.int32]  # of each tuple: which it has, -1 if it has no group


@dataclass(frozen=True, slots=True)
class DistinctKeys:
    """What a layer adds in place of a block's tuples."""

    items: Items  # one for each distinct key of each group
    group_of: NDArray[np.int32]  # of each item
    tuples: NDArray[np.int64]  # of each group: how many its items stand for,
    skipped: NDArray[np.int64]  # and how many lack a field that is read


def number_keys(keys: NDArray[np.uint64], groups: Groups) -> Numbered | None:
    """The distinct keys of each group; None where they are too many for a gain.

    >>> from synopses import Items
    >>> keys = Items.of(["a", "b", "a", "a"] * 300).keys
    >>> number_keys(keys, Groups(np.zeros(1200, np.int32), 1)).number_of[:4].tolist()
    [0, 1, 0, 0]
    """
    rows = len(keys)
    if rows < _SHORT:
        return None
    most = rows // _SHARE
    table = np.zeros(1 << (2 * most - 1).bit_length(), np.int32)
    number_of = np.empty(rows, np.int32)
    found, group_of = np.empty((most, 2), np.uint64), np.empty(most, np.int32)
    count, sample = 0, rows // _SAMPLE
    for start, end in ((0, sample), (sample, rows)):
        count = kernel.distinct_keys(
            keys, groups.of_tuple, _SEED, start, end, count, number_of, table, found, group_of
        )
        if count < 0 or count > end - end // _REPEATS:
            return None
    return Numbered(found[:count], group_of[:count], number_of)
