"""Requests of every operation, kind and dialect: valid, changed as values, and as bytes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from bench.fuzzing.spoiling import Shares, Spoiler
from synopses import KINDS, Synopsis

DATASETS = ("Forex", "e", "d", "f", "a", "b")  # those that fuzzed tuples belong to
UIDS = 3  # of each kind: few, so that requests meet synopses
TOKENS = tuple(
    token.encode()
    for token in (
        *'{}[]:,"\\ 059-.eE', "null", "true", '""', "{}", "[]", "1e308", "-1", "99999999999999999",
        '"uid":"fz-1",', '"op":"list",', '"id":"",', '"requestID":3,', '"window":{"size":"1s"},',
        '"query":{"key":"1"},', '"stream":"S1",', '"scope":"stream",', "\\ud800", "\\u0000",
    )
)  # fmt: skip
_WINDOWS: tuple[dict[str, Any] | None, ...] = (
    None, None, {"size": "10s"}, {"type": "sliding", "size": "20s", "slide": "5s"},
    {"type": "session", "gap": "3s"}, {"type": "sliding", "size": 30, "slide": 10},
    {"size": "1s", "time": "arrival"},
)  # fmt: skip
_INFORE = (
    (1, ["StockID", "price", "Queryable", "0.01", "0.95", "4"], ["S1"]),
    (2, ["StockID", "null", "Queryable", "1000", "0.02"], ["S1"]),
    (3, ["StockID", "price", "Queryable", "3", "3500"], ["S1"]),
    (4, ["StockID", "price", "Queryable", "time", "1", "10", "60", "8"], ["0.9"]),
    (5, ["StockID", "price", "Queryable", "time", "1", "10", "60", "256"], [0.9]),
    (6, ["StockID", "price, volume", "Queryable", "2", "50", "2"], ["StockID"]),
    (7, ["StockID", "price", "Queryable", "0.02"], []),
    (8, ["StockID", "price", "Queryable", "0.05", "0.01", "0.001"], ["S1"]),
    (9, ["StockID", "null", "Queryable", "0.01"], ["S1"]),
    (10, ["StockID", "price", "Queryable", "20", "100000"], []),
    (11, ["StockID", "price", "Queryable", "0.01", "0.01"], ["0.5"]),
    (12, ["StockID", "null", "Continuous", "60", "100", "1", "5"], ["S1"]),
    (13, ["StockID", "volume", "time", "5", "100"], ["3", "60"]),
    (14, ["StockID", "price", "Queryable"], []),
    (15, ["StockID", "price", "Queryable"], []),
    (16, ["StockID", "price", "Queryable", "0.01", "100000"], ["0.5"]),
)  # synopsisID, `param` of an add, `param` of an estimate
_INFORE_OPS = (1, 1, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 100, 101)  # requestID
# How often each operation comes. Lists and snapshots are long, and watches answer for ever.
_OPS = {
    "create": 20, "estimate": 30, "delete": 10, "describe": 6, "export": 6, "watch": 2,
    "unwatch": 4, "list": 0.2, "snapshot": 1, "restore": 1, "snapshots": 1, "remove_snapshot": 1,
    "plugin": 2, "plugins": 1, "unplug": 1, "release": 1, "sites": 0.5, "streams": 2,
    "watches": 0.2,
}  # fmt: skip

_SHARES = Shares(restructured=0.25, rearranged=0.15, mutated=0.2)
_READS = ("estimate", "describe", "export")


class Requests:
    """Makes requests for the request topic."""

    def __init__(self, seed: int | str) -> None:
        self._rng, self._made = Random(seed), 0
        self._spoiler = Spoiler(self._rng, TOKENS, _SHARES)

    def messages(self, count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield self._message()

    def _message(self) -> bytes:
        message = self._infore() if self._rng.random() < 0.25 else self._native()
        return self._spoiler.write(message)

    def _native(self) -> dict[str, Any]:
        rng = self._rng
        self._made += 1
        op = rng.choices(list(_OPS), list(_OPS.values()))[0]
        kind = rng.choice(list(KINDS))
        named = {"id": f"fz-{self._made:x}", "op": op, "uid": self._uid(kind)}
        if op in _READS and rng.random() < 0.3:
            named["uid"] = _into(kind)  # what states were imported into
        match op:
            case "create":
                return {**named, **definition(kind, rng), "uid": self._uid(kind)}
            case "estimate" | "watch":
                name = rng.choice(list(KINDS[kind].questions))
                question = {"query": KINDS[kind].example_query(name), **self._part()}
                more = rng.choice(({"every": "1s"}, {"on": "change"}, {"on": "close"}))
                return {**named, **question, **(more if op == "watch" else {})}
            case "unwatch":
                named["watch"] = f"fz-{int(rng.random() * self._made):x}"
                del named["uid"]
            case "plugin":
                source = f"class C:\n    kind = {self._made}"
                return {"id": named["id"], "op": op, "name": "fuzzed", "source": source}
            case "unplug" | "release":
                return {"id": named["id"], "op": op, "name": "fuzzed", "version": 1}
            case "list":
                return {"id": named["id"], "op": op, "dataset": rng.choice(DATASETS)}
            case "plugins" | "sites":
                del named["uid"]
            case "remove_snapshot":
                named["version"] = "1"
            case "export":
                named |= self._part()
        return named

    def _infore(self) -> dict[str, Any]:
        rng = self._rng
        self._made += 1
        number, add, ask = rng.choice(_INFORE)
        operation = rng.choice(_INFORE_OPS)
        return {
            "dataSetkey": rng.choice(DATASETS),
            "requestID": operation,
            "synopsisID": number,
            "uid": 1000 + int(rng.random() * 10 * UIDS),
            "streamID": rng.choice((None, "S1", "INTEL")),
            "param": add if operation in (1, 5) else ask,
            "noOfP": 4,
            "externalUID": f"fz-{self._made:x}",
        }

    def _uid(self, kind: str) -> str:
        return f"fz-{kind}-{int(self._rng.random() * UIDS)}"

    def _part(self) -> dict[str, Any]:
        all_streams, window = {"stream": "*", "top": 3}, {"end": 1_700_000_010_000}
        return self._rng.choice(({}, {}, {"stream": "S1"}, all_streams, window))


def definition(kind: str, rng: Random) -> dict[str, Any]:
    """The fields of a create of this kind."""
    cls = KINDS[kind]
    told = cls.value_fields
    several = told if isinstance(told, int) else getattr(cls.example(), told)
    names = ["price", "volume", "v", "x"][:several]
    return {
        "dataset": rng.choice(DATASETS),
        "kind": kind,
        "params": cls.example().params,
        "key": "StockID" if cls.reads & {"keys", "texts"} else None,
        "value": (names[0] if several == 1 else names) if "values" in cls.reads else None,
        "scope": rng.choice(
            ("dataset", "stream", {"stream": "S1"}) if cls.mergeable else ("stream",)
        ),
        "window": rng.choice(_WINDOWS) if cls.mergeable else None,
        "ttl": rng.choice((None, None, "30s")),
    }


def _into(kind: str) -> str:
    return f"into-{kind}"


def import_target(cls: type[Synopsis]) -> dict[str, Any]:
    """The create of the synopsis that states of a kind are imported into."""
    made = definition(cls.kind, Random(1))
    scope = "dataset" if cls.mergeable else {"stream": "S1"}
    return {**made, "uid": _into(cls.kind), "scope": scope, "window": None, "ttl": None}


def import_request(cls: type[Synopsis], number: int, state: bytes, replace: bool) -> bytes:
    """A request that imports a state."""
    fields = {"id": f"import-{number:x}", "op": "import", "uid": _into(cls.kind)}
    written = base64.b64encode(state).decode()
    return json.dumps(
        {**fields, "state": written, "mode": "replace" if replace else "merge"}
    ).encode()
