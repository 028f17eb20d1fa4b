"""What the engine is asked to keep while the tuples flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.throughput.forms import ARROW, FORMS, IN_LINES, JSON
from bench.throughput.tuples import DATASET
from clients import Client
from synopses import KINDS, Synopsis


@dataclass(frozen=True)
class Case:
    """A set of synopses and the form the tuples come in."""

    synopses: str
    form: str

    @property
    def name(self) -> str:
        return f"{self.synopses}, {self.form}"


ONE, PER_STREAM, HUNDRED, EACH_KIND = "one Count-Min", "one per stream", "100 distinct", "each kind"
_WINDOWS = {"window": 60, "basic_window": 10}
_PARAMS: dict[str, dict[str, Any]] = {
    "dft": _WINDOWS,
    "lsh": _WINDOWS,
    # One for each stream: half a gigabyte with the sizes meant for one of all.
    "chain_sample": {"k": 10, "window": 1000},
}
_VALUES: dict[str, Any] = {
    "coreset": ["price", "volume"],
    "trajectory": ["price", "price", "volume", "price"],
}

Definition = tuple[str, dict[str, Any]]


def definitions(synopses: str) -> list[Definition]:
    """Kind and fields of each synopsis to create."""
    if synopses == ONE:
        return [("count_min", {"key": "trader"})]
    if synopses == PER_STREAM:
        return [("count_min", {"key": "trader", "scope": "stream"})]
    if synopses == HUNDRED:
        sizes = [(50 + number) / 10_000 for number in range(100)]
        return [("count_min", {"key": "trader", "epsilon": size}) for size in sizes]
    return [_of_kind(cls) for _, cls in sorted(KINDS.items())]


def _of_kind(cls: type[Synopsis]) -> Definition:
    fields: dict[str, Any] = {"scope": "dataset" if cls.mergeable else "stream"}
    if cls.reads & {"keys", "texts"}:
        fields["key"] = "trader"
    if "values" in cls.reads:
        fields["value"] = _VALUES.get(cls.kind, "price")
    return cls.kind, {**fields, **_PARAMS.get(cls.kind, {})}


def create(sde: Client, synopses: str) -> list[str]:
    """Create them; their uids."""
    pending = [
        sde.submit_create(kind, dataset=DATASET, uid=f"{kind}-{number}", **fields)
        for number, (kind, fields) in enumerate(definitions(synopses))
    ]
    return [each.result().uid for each in pending]


def delete(sde: Client, uids: list[str]) -> None:
    for pending in [sde.submit("delete", uid=uid) for uid in uids]:
        pending.result()


_ALL = (PER_STREAM, ONE, HUNDRED, EACH_KIND)
CASES = [
    Case(synopses, form)
    for form in FORMS
    for synopses in (_ALL if form in (JSON, IN_LINES, ARROW) else (PER_STREAM,))
]
