"""One record from any JSON: what its paths and their values are, in plain Python.

`sde.decoding.json_tables` calls this for the records that the scanner left, as `segments` calls
`plain` for tuples. Tests compare the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sde.decoding.limits import Limits
from sde.decoding.plain import Json, parse_object
from sde.wire.faults import Code, Refusal

DEEPEST = 32  # objects and arrays inside each other, the record itself included
MOST_ELEMENTS = 16  # of an array that have paths, where no paths are asked for
MOST_VALUES = 1_000_000  # of the rows of one record; a row without any counts as one
_BOUNDARY = re.compile(r"\.|\[(?:0|[1-9][0-9]*)\]")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read of a record; `paths` None: every scalar.

    each    path of an array whose every element becomes a row
    inner   paths that lead to one that is read
    """

    paths: frozenset[str] | None
    each: str | None
    inner: frozenset[str]

    @classmethod
    def of(cls, paths: frozenset[str] | None, each: str | None) -> Wanted:
        """A key may hold points: every point and bracket of a path may part two names, or not.

        >>> sorted(Wanted.of(frozenset({"legs[0].price"}), None).inner)
        ['legs', 'legs[0]']
        """
        targets = [*(paths or ()), *([] if each is None else [each])]
        inner = {path[: b.start()] for path in targets for b in boundaries(path)}
        return cls(paths, each, frozenset(inner if each is None else inner | {each}))


def boundaries(path: str) -> list[re.Match[str]]:
    """The points and bracketed numbers of a path."""
    return list(_BOUNDARY.finditer(path))


def read_record(payload: bytes, wanted: Wanted, limits: Limits) -> list[dict[str, Json]]:
    """The rows of a record, each with its values by path; Refusal says what is wrong with it.

    One row, or one for each element of the array at `wanted.each`, with the values beside that
    array in each of them. An array that is empty, null or not there has no element; a value
    that is no array counts as an array of one.

    Names are joined by points, an element of an array has its number in brackets. A null is no
    value. Of a path that occurs twice the last one holds; an element's holds over one beside it.

    >>> wanted = Wanted.of(None, "legs")
    >>> read_record(b'{"id": {"n": 7}, "legs": [{"px": 1.5}, 2]}', wanted, Limits())
    [{'id.n': 7, 'legs.px': 1.5}, {'id.n': 7, 'legs': 2}]
    """
    most = limits.max_tuple_bytes if wanted.each is None else limits.max_message_bytes
    if len(payload) > most:
        text = f"a record of {len(payload):,} bytes: expected at most {most:,}"
        raise Refusal(Code.TOO_LARGE, text)
    record = _Record(wanted, limits)
    beside: dict[str, Json] = {}
    record.collect(parse_object(payload), None, 1, beside)
    if wanted.each is None:
        return [record.checked(beside)]
    rows, count = [], 0
    for element in record.elements:
        own: dict[str, Json] = {}
        record.collect(element, wanted.each, record.element_depth, own)
        rows.append(record.checked({**beside, **own}))
        count += max(len(rows[-1]), 1)
        if count > MOST_VALUES:
            text = f"{wanted.each}: {len(record.elements):,} elements with the values beside them"
            text = f"{text}: expected at most {MOST_VALUES:,} values in all"
            raise Refusal(Code.TOO_LARGE, text, wanted.each[:80])
    return rows


class _Record:
    """The walk over one record."""

    def __init__(self, wanted: Wanted, limits: Limits) -> None:
        self._wanted, self._limits = wanted, limits
        self.elements: list[Json] = []
        self.element_depth = 0

    def collect(self, value: Json, path: str | None, depth: int, out: dict[str, Json]) -> None:
        """Put the scalars at the path and below it into `out`, by their paths; the root has none.

        `depth` counts the objects and arrays down to this value, if it is one.
        """
        if not isinstance(value, dict | list):
            if path is not None:
                out[path] = value
            return
        if depth > DEEPEST:
            raise Refusal(Code.BAD_JSON, f"nested deeper than {DEEPEST} objects and arrays")
        if path is not None:
            out[path] = None  # a nested value is no value
        for below, member in self._members(value, path):
            if below is None:
                _require_depth(member, depth + 1)
            elif below == self._wanted.each:
                _require_depth(member, depth + 1)
                self._take_elements(member, depth + 1)
            else:
                self.collect(member, below, depth + 1, out)

    def _take_elements(self, value: Json, depth: int) -> None:
        if isinstance(value, list):
            self.elements, self.element_depth = value, depth + 1
        else:
            self.elements, self.element_depth = [] if value is None else [value], depth

    def _members(
        self, value: dict[str, Json] | list[Json], path: str | None
    ) -> Iterator[tuple[str | None, Json]]:
        """What stands in an object or array, with its path; None where nobody reads it."""
        if isinstance(value, dict):
            for name, member in value.items():
                yield self._read_path(name if path is None else f"{path}.{name}"), member
        else:
            for i, member in enumerate(value):
                below = self._read_path(f"{path}[{i}]")
                is_far = self._wanted.paths is None and i >= MOST_ELEMENTS
                yield None if is_far and below not in self._wanted.inner else below, member

    def _read_path(self, path: str) -> str | None:
        """The path if something there or below is read."""
        wanted, most = self._wanted, self._limits.max_name
        if wanted.paths is not None:
            return path if path in wanted.paths or path in wanted.inner else None
        if len(path) > most:
            text = f"path {path[:77] + '...'!r}: expected at most {most} characters"
            raise Refusal(Code.TOO_LARGE, text, path[:80])
        return path

    def checked(self, values: dict[str, Json]) -> dict[str, Json]:
        """The values that there are, and that are read; Refusal if they are too many."""
        paths = self._wanted.paths
        row: dict[str, Json] = {
            path: value
            for path, value in values.items()
            if value is not None and (paths is None or path in paths)
        }
        if paths is None and len(row) > self._limits.max_fields:
            text = f"a record of {len(row)} values: expected at most {self._limits.max_fields}"
            raise Refusal(Code.TOO_LARGE, text)
        return row


def _require_depth(value: Any, depth: int) -> None:
    """Refuse a value that nobody reads if it is nested too deeply."""
    level = [value] if isinstance(value, dict | list) else []
    while level:
        if depth > DEEPEST:
            raise Refusal(Code.BAD_JSON, f"nested deeper than {DEEPEST} objects and arrays")
        below = (v for some in level for v in (some.values() if isinstance(some, dict) else some))
        level = [v for v in below if isinstance(v, dict | list)]
        depth += 1
