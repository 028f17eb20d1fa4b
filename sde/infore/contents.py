"""What a reply tells: an estimate in the form it had there, or a sentence that it was done."""

from __future__ import annotations

from typing import Any

from sde.infore.envelope import reply_key, whole
from sde.infore.versions import shown_version
from sde.wire.forms import InforeMessage

Message = InforeMessage

# The classes there; a kind that it did not have goes by our name.
_CLASSES = {
    "count_min": "CountMin",
    "bloom": "Bloomfilter",
    "ams": "AMSsynopsis",
    "dft": "MultySynopsisDFT",
    "lsh": "LSHsynopsis",
    "coreset": "FinJoinCoresets",
    "hyperloglog": "HyperLogLogSynopsis",
    "sticky_sampling": "StickySamplingSynopsis",
    "lossy_counting": "LossyCountingSynopsis",
    "chain_sample": "ChainSamplerSynopsis",
    "quantiles": "GKsynopsis",
    "trajectory": "ContinuousMaritimeSketches",
    "top_k": "SynopsisTopK",
}
_CHAIN_SAMPLER = 10


def content_of(message: Message, native: Message) -> Any:
    """`estimation` of an answer, `content` of a log message."""
    value: Any = native.get("value")
    named = f"{_of_type(native)} with UID: {reply_key(message)}"
    if "ended" in native:
        return None
    match native.get("op"):
        case "estimate":
            return _estimation(message, native)
        case "watch" if "number" in native:
            return _estimation(message, native)
        case "create" | "watch":
            return f"Maintaining synopsis{named}"
        case "delete":
            return f"Deleted synopsis{named}"
        case "snapshot":
            return f"Snapshot of synopsis{named} Version: v{shown_version(value)}"
        case "restore":
            loaded = f"Loaded snapshot of synopsis{named} Version: v{shown_version(value)}"
            return loaded + _as_another(message, native)
        case "snapshots":
            return _versions(value)
        case "list":
            return _by_dataset(message, value)
        case _:
            return "Acknowledged"


def _type(kind: str) -> str:
    return _CLASSES.get(kind, kind)


def _of_type(native: Message) -> str:
    return f" of type {_type(native['kind'])}" if "kind" in native else ""


def _estimation(message: Message, native: Message) -> Any:
    value: Any = native.get("value")
    kind = native.get("kind")
    if value is None:  # nothing that came fitted
        return None
    if kind in ("sample", "chain_sample") and whole(message.get("synopsisID")) == _CHAIN_SAMPLER:
        return [record["value"] for record in value]
    if kind == "trajectory":
        return _position(value, native.get("stream"))
    return value


def _position(value: Message, ship: Any) -> Message:
    """A kept tuple by the names it came with; times are seconds there."""
    time = value["time"]
    return {
        "t": time // 1000 if time % 1000 == 0 else time / 1000,
        "shipid": ship,
        "lat": value["latitude"],
        "lon": value["longitude"],
        "course": value["course"],
        "speed": value["speed"],
    }


def _as_another(message: Message, native: Message) -> str:
    new = native.get("uid")
    return "" if new in (None, reply_key(message)) else f" as UID: {new}"


def _versions(snapshots: list[Message]) -> str:
    """The names that its files had, newest first, in one text."""
    names = [
        f"syn_{s['uid']}_{s['dataset']}_v{shown_version(s['version'])}" for s in reversed(snapshots)
    ]
    return f"[{', '.join(names)}]"


def _by_dataset(message: Message, synopses: list[Message]) -> Message:
    found: dict[str, list[Message]] = {}
    for one in synopses:
        number = whole(one["uid"])
        found.setdefault(one["dataset"], []).append(
            {
                "id": one["uid"] if number is None else number,
                "type": _type(one["kind"]),
                "parallelism": whole(message.get("noOfP")) or 0,
                "key": one["dataset"],
            }
        )
    return found
