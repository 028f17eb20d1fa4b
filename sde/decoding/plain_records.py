"""Records read one after the other, where their paths are known only with their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sde.decoding.limits import Limits
from sde.decoding.merging import Value, columns_of_values
from sde.decoding.schema_tables import MOST_CELLS, Records
from sde.tuples.column import Column
from sde.wire.faults import Code, Fault, Refusal

_AT_ONCE = 16  # records whose paths nobody knows before


@dataclass(frozen=True, slots=True)
class PlainDecoder:
    """A decoder that reads by `read`, which raises Refusal, the values of a record by path."""

    read_record: Callable[[bytes], dict[str, Value]]
    paths: frozenset[str] | None
    limits: Limits

    @property
    def columns(self) -> int:
        return MOST_CELLS // _AT_ONCE if self.paths is None else len(self.paths)

    def read(
        self, records: Records, refuse: Callable[[int, Fault], None]
    ) -> tuple[NDArray[np.int64], dict[str, Column]]:
        taken: list[int] = []
        values: list[dict[str, Value]] = []
        for row in range(len(records)):
            try:
                found = self.read_record(records.payload(row))
                self._check_limits(found)
            except Refusal as refusal:
                refuse(row, refusal.fault)
                continue
            taken.append(row)
            values.append(found)
        return np.array(taken, np.int64), columns_of_values(values)

    def _check_limits(self, values: dict[str, Value]) -> None:
        most, longest = self.limits.max_fields, self.limits.max_name
        if len(values) > most:
            text = f"a record of {len(values)} values: expected at most {most}"
            raise Refusal(Code.TOO_LARGE, text)
        for path in values:
            if len(path) > longest:
                text = f"path {path[:80]!r}...: expected at most {longest} characters"
                raise Refusal(Code.TOO_LARGE, text, path[:80])
