"""requestID 5: a synopsis that answers without being asked, as a watch of ours.

There was one answer for each tuple; here there is one for each micro-batch and key (or stream)
that changed in it.
"""

from __future__ import annotations

from typing import Any

from sde.wire import EACH_KEY, EACH_STREAM, ON_CHANGE, STREAM_SCOPE, Ask, Create, Watch

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
    kind, watch = create.definition.kind, f"{create.id}+watch"
    query, each = dict(_OF_ALL.get(kind, {})), ""
    if kind in _OF_EACH:
        query = {"type": _OF_EACH[kind]}
        each = EACH_STREAM if create.definition.scope == STREAM_SCOPE else EACH_KEY
    return Watch(watch, Ask(watch, (create.uid,), query), on=ON_CHANGE, each=each)
