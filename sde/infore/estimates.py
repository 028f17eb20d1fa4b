"""The `param` of an estimate: what is asked depends on the kind of the synopsis that runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sde.infore.params import Params
from sde.wire import Ask, Code, Definition, Refusal
from synopses import KINDS

_MOST_PARAMS = 2  # of an estimate; an add has at least two fields and a mode
_A_THRESHOLD = "a threshold above 0 and at most 1"

Query = dict[str, Any]


def question_of(request_id: str, uid: str, running: Definition, p: Params) -> Ask:
    """What an estimate with these parameters asks of a running synopsis."""
    read = _READERS.get(running.kind)
    if read is None:
        raise Refusal(
            Code.BAD_QUERY, f"uid={uid} is a {running.kind}: ask it in the native dialect", "uid"
        )
    query = read(p, running)
    stream = query.pop("stream") if query["type"] == "last" else None
    return Ask(id=request_id, uid=uid, query=query, stream=stream)


def may_be_estimate(running: Definition, p: Params) -> bool:
    """Whether an add with these parameters may be meant as an estimate."""
    return len(p) <= _MOST_PARAMS or running.kind == "coreset"


def join_of(request_id: str, uids: tuple[str, ...], running: Definition, p: Params) -> Ask:
    """A question about several synopses of one kind."""
    kind = KINDS.get(running.kind)
    questions = kind.questions if kind else {}
    for name in ("inner_product", "join_size", "union"):
        if name in questions:
            if questions[name].others == "one" and len(uids) != 2:
                p.refuse(0, f"2: the {name} of a {running.kind} is about two synopses")
            return Ask(id=request_id, several=list(uids), query={"type": name})
    p.refuse(1, f"a synopsis that can be joined; this one is a {running.kind}")


# -- one reader for each way of asking ------------------------------------------------------------


def _frequency(p: Params, running: Definition) -> Query:
    return {"type": "frequency", "key": p.key(0)}


def _contains(p: Params, running: Definition) -> Query:
    return {"type": "contains", "key": p.key(0)}


def _cardinality(p: Params, running: Definition) -> Query:
    return {"type": "cardinality"}


def _pairs(p: Params, running: Definition) -> Query:
    """Only streams that rise and fall together, as there."""
    threshold = p.number(0, _A_THRESHOLD, lambda value: 0 < value <= 1)
    return {"type": "pairs", "threshold": threshold, "negative": False}


def _similar(p: Params, running: Definition) -> Query:
    """A threshold asks for pairs, the name of a stream for those like it."""
    try:
        return _pairs(p, running)
    except Refusal:
        name = p.key(0, f"{_A_THRESHOLD}, or the name of a stream")
        return {"type": "similar", "stream": name}


def _centres(p: Params, running: Definition) -> Query:
    """`..., d, size, k`: k stands last; without it, the points of the coreset."""
    if not len(p):
        return {"type": "points"}
    size = running.params["size"]
    k = p.whole(len(p) - 1, f"k, a whole number from 1 to {size}", 1, size)
    return {"type": "centres", "k": k}


def _quantile(p: Params, running: Definition) -> Query:
    return {"type": "quantile", "q": p.number(0, "a number from 0 to 1", lambda q: 0 <= q <= 1)}


def _sample(p: Params, running: Definition) -> Query:
    return {"type": "sample"}


def _last(p: Params, running: Definition) -> Query:
    return {"type": "last", "stream": p.key(0, "the streamID of a ship")}


def _top(p: Params, running: Definition) -> Query:
    k = running.params["k"]
    if not len(p):
        return {"type": "top"}
    return {"type": "top", "n": p.whole(0, f"a whole number from 1 to {k}", 1, k)}


_READERS: dict[str, Callable[[Params, Definition], Query]] = {
    "count_min": _frequency,
    "count_min_conservative": _frequency,
    "ams": _frequency,
    "sticky_sampling": _frequency,
    "lossy_counting": _frequency,
    "frequent_items": _frequency,
    "bloom": _contains,
    "hyperloglog": _cardinality,
    "fm": _cardinality,
    "theta": _cardinality,
    "dft": _pairs,
    "lsh": _similar,
    "coreset": _centres,
    "quantiles": _quantile,
    "histogram": _quantile,
    "log_histogram": _quantile,
    "sample": _sample,
    "chain_sample": _sample,
    "trajectory": _last,
    "top_k": _top,
}
