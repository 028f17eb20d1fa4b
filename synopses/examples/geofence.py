"""Geofence: who is in this area, who came, who went?"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from synopses import Estimate, Items, QueryError, StateError, Synopsis, parameter, question
from synopses.hashing import hash_key
from synopses.text_cells import cell_text, cells_fit_keys

_NEVER = -(2**63)  # before any time
_LETTERS = np.arange(40)  # of a name; longer ones are cut when shown
_FIELDS = ["key", "time", "place", "length", "text"]
_ROW = np.dtype({"names": _FIELDS, "formats": ["2<u8", "<i8", "2<f8", "<i8", "40u1"]})


class Geofence(Synopsis):
    """The last two positions of each mover, asked by area: ships, cars, parcels.

    The area is part of the question, so one synopsis serves all areas. A key is a mover; an item
    has two values: x and y, such as longitude and latitude. Of positions with the same time the
    one with the larger x, then y, counts. The movers seen last stay, of equal times by their
    hashes. A position before the last goes, too, once a mover that is left out was seen then or
    later: so the state depends only on what was seen, in any order and any parts.

    An area is a list of corners, [[x, y], ...]; one across the 180th meridian is two areas. Where
    areas share an edge, a position on it is in just one.

    Examples
    --------
    >>> fleet = Geofence()
    >>> fleet.add(Items.of(["ann", "bob", "ann"], values=[[1, 1], [9, 9], [5, 5]], times=[1, 2, 3]))
    >>> fleet.entered([[4, 4], [6, 4], [6, 6], [4, 6]]).value
    [{'key': 'ann', 'time': 3, 'x': 5.0, 'y': 5.0, 'before': {'time': 1, 'x': 1.0, 'y': 1.0}}]
    """

    kind = "geofence"
    order_free = True
    idempotent = True
    reads = frozenset({"keys", "texts", "values", "times"})
    value_fields: ClassVar[int | str] = 2
    guarantee = "no mover seen after `complete_after` (null: at any time) is missing"

    movers: int = parameter(10_000, least=1, most=1_000_000, doc="how many to keep")

    def _prepare(self) -> None:
        self._rows = np.zeros(0, _ROW)  # of each mover one or two, the last position first
        self._left_out = _NEVER  # the newest time of a mover that is not kept

    @property
    def memory(self) -> int:
        return 8 + 2 * self.movers * _ROW.itemsize

    def _add(self, items: Items) -> None:
        places = items.values.reshape(len(items), 2) + 0.0  # -0.0 and 0.0 are one value
        chosen, left_out = _newest(items.keys, items.times, places, self.movers, _NEVER)
        rows = np.zeros(len(chosen), _ROW)
        for name, column in zip(_FIELDS, (items.keys, items.times, places), strict=False):
            rows[name] = column[chosen]
        starts, ends = items.texts.offsets[chosen], items.texts.offsets[chosen + 1]
        rows["length"] = ends - starts
        used = rows["length"][:, None] > _LETTERS
        rows["text"][used] = items.texts.buffer[(starts[:, None] + _LETTERS)[used]]
        self._absorb(rows, left_out)

    def _merge(self, other: Self) -> None:
        self._absorb(other._rows, other._left_out)

    def _absorb(self, rows: NDArray[Any], left_out: int) -> None:
        both = np.concatenate([self._rows, rows])
        chosen, self._left_out = _newest(
            both["key"], both["time"], both["place"], self.movers, max(self._left_out, left_out)
        )
        self._rows = both[chosen]

    def _payload(self) -> bytes:
        return self._left_out.to_bytes(8, "little", signed=True) + self._rows.tobytes()

    def _load(self, payload: memoryview) -> None:
        if len(payload) < 8 or (len(payload) - 8) % _ROW.itemsize:
            raise StateError(f"geofence: {len(payload)} bytes are no positions of movers")
        rows = np.frombuffer(payload, _ROW, offset=8)
        named = cells_fit_keys(rows["text"], rows["length"], rows["key"])
        if not named or not np.isfinite(rows["place"]).all():
            raise StateError("geofence: a name without its hash, or a position that is not finite")
        self._absorb(rows, int.from_bytes(payload[:8], "little", signed=True))
        if self._payload() != payload:
            raise StateError("geofence: positions out of order, or that would not have been kept")

    @classmethod
    def example(cls) -> Self:
        return cls(movers=40)

    @classmethod
    def example_items(cls, rng: np.random.Generator, n: int) -> Items:
        movers, times = rng.integers(0, 60, n), 1_700_000_000_000 + rng.integers(0, 100, n)
        return Items.of(movers, rng.uniform(-10, 10, (n, 2)), times)

    @classmethod
    def example_query(cls, question: str) -> dict[str, Any]:
        area = {"polygon": [[-5, -5], [5, -5], [0, 8]]}
        return {"type": question, **({"key": "7"} if question == "position" else area)}

    @question(most={"polygon": 1000, "since": 2**62})
    def inside(self, polygon: list[Any], since: int = 0) -> Estimate:
        """Movers whose last position is in the area, and not before `since` (ms; 0: any time)."""
        within, again = self._look(polygon)
        return self._answer(within & ~again, since)

    @question(most={"polygon": 1000, "since": 2**62})
    def entered(self, polygon: list[Any], since: int = 0) -> Estimate:
        """Movers whose last position, not before `since`, is in the area and the one before not."""
        within, again = self._look(polygon)
        return self._answer(within & np.append(again & ~within, False)[1:], since)

    @question(most={"polygon": 1000, "since": 2**62})
    def left(self, polygon: list[Any], since: int = 0) -> Estimate:
        """Movers whose last position, not before `since`, is out of the area, the one before in."""
        within, again = self._look(polygon)
        return self._answer(~within & np.append(again & within, False)[1:], since)

    @question(most={"polygon": 1000})
    def count(self, polygon: list[Any]) -> Estimate:
        """How many movers are in the area now."""
        within, again = self._look(polygon)
        return self._estimate(int((within & ~again).sum()))

    @question
    def position(self, key: str) -> Estimate:
        """The last position of a mover, and the one before."""
        found = np.flatnonzero((self._rows["key"] == hash_key(key)).all(axis=1))
        return self._estimate(self._mover(found[0]) if len(found) else None)

    def _look(self, polygon: list[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which positions are in the area, and which are the one before that of the row before."""
        return _in_area(_corners(polygon), self._rows["place"]), _again(self._rows["key"])

    def _answer(self, chosen: NDArray[np.bool_], since: int) -> Estimate:
        at, times = np.flatnonzero(chosen), self._rows["time"]
        newest_first = at[np.argsort(times[at], kind="stable")[::-1]]
        recent = (i for i in newest_first if times[i] >= since or not since)
        return self._estimate([self._mover(i) for i in recent])

    def _mover(self, at: np.int64) -> dict[str, Any]:
        rows = self._rows[at : at + 1 + _again(self._rows["key"][at : at + 2]).sum()]
        places = zip(rows["time"].tolist(), rows["place"].tolist(), strict=True)
        last, *before = [{"time": time, "x": x, "y": y} for time, (x, y) in places]
        mover = {"key": cell_text(rows["text"][0], int(rows["length"][0])), **last}
        return {**mover, "before": before[0]} if before else mover

    def _estimate(self, value: Any) -> Estimate:
        complete_after = None if self._left_out == _NEVER else self._left_out
        return Estimate(value, details={"complete_after": complete_after})


def _again(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries equal the one before."""
    lines, same = np.atleast_2d(column.T), np.zeros(len(column), bool)
    same[1:] = (lines[:, 1:] == lines[:, :-1]).all(axis=0)
    return same


def _newest(
    keys: NDArray[Any], times: NDArray[Any], places: NDArray[Any], movers: int, left_out: int
) -> tuple[NDArray[np.int64], int]:
    """The positions to keep, by mover and the last first; and the newest time of one left out."""
    order = np.lexsort((places[:, 1], places[:, 0], times, keys[:, 1], keys[:, 0]))[::-1]
    order = order[~(_again(keys[order]) & _again(times[order]))]  # one position at a time
    again = _again(keys[order])
    third = again & np.append(False, again)[:-1]
    order, again = order[~third], again[~third]
    last = order[~again]
    stays = np.ones(len(last), bool)
    if len(last) > movers:
        oldest_first = np.lexsort((keys[last, 1], keys[last, 0], times[last]))
        out = oldest_first[: len(last) - movers]
        stays[out] = False
        left_out = max(left_out, int(times[last[out[-1]]]))
    return order[stays[np.cumsum(~again) - 1] & (~again | (times[order] > left_out))], left_out


def _corners(polygon: list[Any]) -> list[tuple[float, float]]:
    """(y, x) of each corner, or QueryError."""
    pairs = [pair for pair in polygon if isinstance(pair, list) and len(pair) == 2]
    numbers = [n for pair in pairs for n in pair if type(n) in (int, float) and abs(n) <= 1e9]
    if not 3 <= len(polygon) <= 1000 or len(numbers) != 2 * len(polygon):
        expected = "3 to 1000 corners [x, y], no number beyond a billion"
        raise QueryError("query.polygon", polygon, expected)
    return [(float(y), float(x)) for x, y in pairs]


def _in_area(corners: list[tuple[float, float]], places: NDArray[Any]) -> NDArray[np.bool_]:
    """Which places see an odd number of edges to their right."""
    (x, y), odd = places.T, np.zeros(len(places), bool)
    for edge in zip(corners, corners[1:] + corners[:1], strict=True):
        (y1, x1), (y2, x2) = sorted(edge)  # upwards: both sides compute a shared edge alike
        at = np.flatnonzero((y1 <= y) & (y < y2))
        odd[at] ^= x[at] < x1 + (y[at] - y1) / (y2 - y1) * (x2 - x1)
    return odd
