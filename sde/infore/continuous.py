"""requestID 5: a synopsis that answers without being asked, as a watch of ours.

There was one answer for each tuple; here there is one for each micro-batch and key (or stream)
that changed in it.
"""

from __future__ import annotations

from typing import Any

from sde.infore.adds import definition_of
from sde.infore.envelope import Envelope
from sde.infore.params import Params
from sde.messages import ON_CHANGE, Ask, Watch

CHANGED = "changed"  # ask the question for each key, or each stream, that changed

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


def watch_of(message: dict[str, Any], place: str) -> Watch:
    """The watch that a continuous add begins; it follows from the message alone."""
    envelope = Envelope(message)
    kind = definition_of(envelope, Params(message)).kind
    watch, uids = f"{place}+watch", (envelope.uid,)
    if kind in _OF_EACH:
        question = Ask(watch, uids, {"type": _OF_EACH[kind]})
        named: dict[str, Any] = {"keys": CHANGED}
    else:
        question, named = Ask(watch, uids, dict(_OF_ALL[kind])), {}
    known = {name: value for name, value in named.items() if name in Watch.__dataclass_fields__}
    return Watch(watch, question, on=ON_CHANGE, **known)
