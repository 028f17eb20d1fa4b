"""requestID 5: a synopsis that answers without being asked, as a watch of ours.

There was one answer for each tuple; here there is one for each micro-batch and key (or stream)
that changed in it.
"""

from __future__ import annotations

from typing import Any, Literal

from sde.wire import STREAM_SCOPE, Create, Watch

_OF_EACH = {
    "count_min": "frequency",
    "ams": "frequency",
    "sticky_sampling": "frequency",
    "lossy_counting": "frequency",
    "bloom": "contains",
    "trajectory": "last",
}
_OF_ALL: dict[str, dict[str, Any]] = {
    "hyperloglog": {"type": "cardinality"},
    "quantiles": {"type": "quantile", "q": 0.5},
    "dft": {"type": "pairs", "threshold": 0.9, "negative": False},
    "lsh": {"type": "pairs", "threshold": 0.9, "negative": False},
    "coreset": {"type": "points"},
    "sample": {"type": "sample"},
    "top_k": {"type": "top"},
}


def watch_of(create: Create) -> Watch:
    """The watch that a continuous add begins beside its synopsis."""
    kind, watch = create.kind, f"{create.id}+watch"
    if kind not in _OF_EACH:
        query = dict(_OF_ALL.get(kind, {}))
        return Watch(id=watch, uid=create.uid, query=query, on="change")
    query = {"type": _OF_EACH[kind]}
    by_stream = create.definition.scope == STREAM_SCOPE
    each: Literal["key", "stream"] = "stream" if by_stream else "key"
    return Watch(id=watch, uid=create.uid, query=query, on="change", each=each)
