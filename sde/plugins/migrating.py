"""States of an older version in the form that `migrate` of a plug-in gets and gives.

Of a banked kind that is a dictionary of arrays, those of one synopsis; of a free one bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sde.plugins.calls import StatedLayout
from synopses import Arrays, BankedSynopsis, StateError


def arrays_of(layout: StatedLayout, payload: bytes) -> Arrays:
    """The arrays in the bytes of a banked synopsis, copied.

    >>> arrays_of({"sum": ("<i8", ()), "cells": ("<i4", (2,))}, bytes(16))
    {'sum': array(0), 'cells': array([0, 0], dtype=int32)}
    """
    arrays, at = {}, 0
    for name, (dtype, shape) in layout.items():
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(payload, dtype, count, at).reshape(shape).copy()
        arrays[name] = array
        at += array.nbytes
    return arrays


def put_arrays(synopsis: BankedSynopsis, given: Any) -> None:
    """Set the state of a synopsis; StateError if these are not its arrays."""
    if not isinstance(given, Mapping) or given.keys() != synopsis.arrays.keys():
        named = ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
        expected = ", ".join(synopsis.arrays)
        raise StateError(f"migrate gave {named or 'nothing'}: expected the arrays {expected}")
    for name, array in synopsis.arrays.items():
        if np.shape(given[name]) != array.shape[1:]:
            raise StateError(
                f"migrate gave {name} of shape {np.shape(given[name])}: expected {array.shape[1:]}"
            )
        np.copyto(array, np.asarray(given[name])[np.newaxis], casting="same_kind")
