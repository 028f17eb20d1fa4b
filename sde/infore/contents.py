"""What a reply tells: an estimate in the form it had there, or a sentence that it was done."""

from __future__ import annotations

from typing import Any

from sde.infore.envelope import reply_key, whole

Message = dict[str, Any]

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
    uid = reply_key(message)
    value: Any = native.get("value")
    kind = native.get("kind", "")
    if "ended" in native:
        return None
    match native.get("op"):
        case "estimate":
            return _estimation(message, native)
        case "watch" if "number" in native:
            return _estimation(message, native)
        case "create" | "watch":
            return f"Maintaining synopsis of type {_type(kind)} with UID: {uid}"
        case "delete":
            return f"Deleted synopsis of type {_type(kind)} with UID: {uid}"
        case "snapshot":
            return f"Snapshot of synopsis with UID: {uid} Version: v{value}"
        case "restore":
            return _restored(message, value)
        case "snapshots":
            return _versions(value)
        case "list":
            return _by_dataset(message, value)
        case _:
            return "Acknowledged"


def _type(kind: str) -> str:
    return _CLASSES.get(kind, kind)


def _estimation(message: Message, native: Message) -> Any:
    value: Any = native.get("value")
    kind = native.get("kind")
    if kind in ("sample", "chain_sample") and whole(message.get("synopsisID")) == _CHAIN_SAMPLER:
        return [record["value"] for record in value]
    if kind == "trajectory" and value is not None:
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


def _restored(message: Message, version: Any) -> str:
    told = f"Loaded snapshot of synopsis with UID: {reply_key(message)} Version: v{version}"
    given = message.get("param")
    is_new = whole(message.get("requestID")) == 202 and isinstance(given, list) and len(given) > 1
    return f"{told} as UID: {whole(given[1])}" if is_new and given else told


def _versions(snapshots: list[Message]) -> str:
    """The names that its files had, newest first, in one text."""
    names = [f"syn_{s['uid']}_{s['dataset']}_v{s['version']}" for s in reversed(snapshots)]
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
