"""synopsisID and the `param` of an add: which of our kinds is meant, and with which parameters.

`param[0]` is the key field, `param[1]` the value field (a name that starts with `null`: count 1),
`param[2]` a mode without effect; what follows is told apart by synopsisID. Nothing is guessed:
an entry that is missing or impossible is refused by its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sde.infore.envelope import Envelope
from sde.infore.params import Params
from sde.wire import STREAM_SCOPE, Code, Definition
from synopses import AMS, KINDS, HyperLogLog, ParameterError, Quantiles

_A_SHARE = "a number above 0 and below 1"
_A_LENGTH = "a number of seconds above 0"
_MOST_WHOLE = 2**31 - 1  # of a Java int
_MOST_ROWS = 51  # the chance that the median of so many rows fails is below what counts
_SHIP_FIELDS = ("lat", "lon", "course", "speed")
_SHIP_TIME = "t"


def definition_of(envelope: Envelope, p: Params) -> Definition:
    """The definition an add asks for, with every parameter filled in."""
    number = envelope.synopsis_id
    if number in _NOT_HERE:
        envelope.refuse("synopsisID", _NOT_HERE[number], Code.UNKNOWN_KIND)
    if number not in _READERS:
        known = ", ".join(map(str, _READERS))
        envelope.refuse("synopsisID", f"one of {known}", Code.UNKNOWN_KIND)
    return _READERS[number](envelope.dataset, p)


def _checked(p: Params, places: dict[str, int], definition: Definition) -> Definition:
    """The definition with all parameters, or a refusal of the entry that a parameter came from."""
    try:
        template = KINDS[definition.kind](**definition.params)
    except ParameterError as error:
        p.refuse(places.get(error.name, min(places.values())), error.expected)
    return replace(definition, params=template.params)


def _key(p: Params) -> str:
    return p.field(0, "the field of the keys")


def _weights(p: Params) -> tuple[str, ...]:
    """The value field where counting 1 is possible, too."""
    if p.is_null(1):
        return ()
    name = p.field(1, "the field of the values, or null to count 1")
    return () if name.startswith("null") else (name,)


def _value(p: Params, what: str = "the field of the values") -> str:
    name = p.field(1, what)
    if name.startswith("null"):
        p.refuse(1, what)
    return name


def _share(p: Params, place: int) -> float:
    return p.number(place, _A_SHARE, lambda share: 0 < share < 1)


def _error(p: Params, place: int) -> float:
    """A share as an error; sizes that follow from smaller ones would overflow."""
    return p.number(place, _A_SHARE, lambda error: 1e-9 <= error < 1)


def _size(p: Params, place: int, what: str) -> int:
    return p.whole(place, f"{what}, a whole number of at least 1", 1, _MOST_WHOLE)


# -- one reader for each synopsisID ---------------------------------------------------------------


def _count_min(dataset: str, p: Params) -> Definition:
    key, values = _key(p), _weights(p)
    epsilon = _share(p, 3)
    confidence = p.number(4, f"{_A_SHARE}, by 1e-9 at least", lambda c: 1e-9 <= c <= 1 - 1e-9)
    seed = p.whole(5, "a seed, a whole number", -_MOST_WHOLE - 1, 2**32)
    params = {"epsilon": epsilon, "delta": round(1 - confidence, 12), "seed": seed % 2**32}
    return _checked(p, {"epsilon": 3}, Definition(dataset, "count_min", params, key, values))


def _bloom(dataset: str, p: Params) -> Definition:
    key = _key(p)
    params = {"capacity": _size(p, 3, "the expected elements"), "fpp": _share(p, 4)}
    places = {"capacity": 3, "fpp": 4}
    return _checked(p, places, Definition(dataset, "bloom", params, key))


def _ams(dataset: str, p: Params) -> Definition:
    key, values = _key(p), _weights(p)
    depth, buckets = _size(p, 3, "the depth"), _size(p, 4, "the buckets")
    try:
        params = AMS.from_shape(min(depth, _MOST_ROWS), buckets).params
    except ParameterError as error:
        p.refuse(3 if error.name in ("depth", "delta") else 4, error.expected)
    return Definition(dataset, "ams", params, key, values)


def _series(dataset: str, p: Params, kind: str, last: str) -> Definition:
    """DFT and LSH: one window for each stream; `last` is the parameter in `param[7]`."""
    value, time = _value(p), p.field(3, "the field of the time")
    params: dict[str, Any] = {
        name: p.number(place, _A_LENGTH, lambda seconds: 0 < seconds <= 1e9)
        for name, place in (("interval", 4), ("basic_window", 5), ("window", 6))
    }
    params[last] = _size(p, 7, last)
    places = {"interval": 4, "basic_window": 5, "window": 6, last: 7}
    definition = _timed(time, dataset=dataset, kind=kind, params=params, values=(value,))
    return _checked(p, places, definition)


def _dft(dataset: str, p: Params) -> Definition:
    return _series(dataset, p, "dft", "coefficients")


def _lsh(dataset: str, p: Params) -> Definition:
    return _series(dataset, p, "lsh", "bits")


def _coreset(dataset: str, p: Params) -> Definition:
    dimensions, size = _size(p, 3, "the dimensions"), _size(p, 4, "the bucket size")
    if len(p) > 5 and p.whole(5, f"{dimensions}, as in param[3]", 1, _MOST_WHOLE) != dimensions:
        p.refuse(5, f"{dimensions}, as in param[3]")
    fields = tuple(name.strip() for name in _value(p).split(","))
    if len(fields) != dimensions or not all(fields):
        p.refuse(1, f"{dimensions} field names with commas between them, one for each dimension")
    params = {"dimensions": dimensions, "size": size}
    places = {"dimensions": 3, "size": 4}
    return _checked(p, places, Definition(dataset, "coreset", params, values=fields))


def _hyperloglog(dataset: str, p: Params) -> Definition:
    counted = _value(p, "the field whose distinct values are counted")
    error = _error(p, 3)
    try:
        params = HyperLogLog.from_error(error).params
    except ParameterError:
        p.refuse(3, "a number of at least 0.00072 and below 1")
    return Definition(dataset, "hyperloglog", params, counted)


def _sticky_sampling(dataset: str, p: Params) -> Definition:
    key, values = _key(p), _weights(p)
    places = {"support": 3, "epsilon": 4, "failure_probability": 5}
    params = {name: _share(p, place) for name, place in places.items()}
    return _checked(p, places, Definition(dataset, "sticky_sampling", params, key, values))


def _lossy_counting(dataset: str, p: Params) -> Definition:
    key, values = _key(p), _weights(p)
    params = {"epsilon": _share(p, 3)}
    return _checked(p, {"epsilon": 3}, Definition(dataset, "lossy_counting", params, key, values))


def _chain_sampler(dataset: str, p: Params) -> Definition:
    """A sample of the whole data set: its streams have no common order to take the last n of."""
    key, values = _key(p), _weights(p)
    k, window = _size(p, 3, "the sample size"), _size(p, 4, "the window size")
    if k > window:
        p.refuse(3, f"at most the window size, {window}")
    return _checked(p, {"k": 3}, Definition(dataset, "sample", {"k": k}, key, values))


def _quantiles(dataset: str, p: Params) -> Definition:
    value, error = _value(p), _error(p, 3)
    try:
        params = Quantiles.from_error(error).params
    except ParameterError:
        p.refuse(3, "a number of at least 0.00005 and below 1")
    return Definition(dataset, "quantiles", params, values=(value,))


def _window_quantiles(dataset: str, p: Params) -> Definition:
    """Of the whole data set, for the same reason as the chain sampler."""
    definition = _quantiles(dataset, p)
    _size(p, 4, "the window size")
    return definition


def _maritime(dataset: str, p: Params) -> Definition:
    """The fields have names of their own; a ship is a stream."""
    places = {
        "min_period": 3,
        "min_distance": 4,
        "min_speed_change": 5,
        "min_course_change": 6,
    }
    params = {
        name: p.number(place, "a number of at least 0", lambda limit: 0 <= limit <= 1e9)
        for name, place in places.items()
    }
    definition = _timed(
        _SHIP_TIME, dataset=dataset, kind="trajectory", params=params, values=_SHIP_FIELDS
    )
    return _checked(p, places, definition)


def _top_k(dataset: str, p: Params) -> Definition:
    key, values = _key(p), _weights(p)
    k = p.whole(3, "k, a whole number from 1 to 1000", 1, 1000)
    params = {"k": k, "epsilon": min(0.01, 0.1 / k)}  # ten times as sharp as the k-th share
    return _checked(p, {"k": 3}, Definition(dataset, "top_k", params, key, values))


def _sample(dataset: str, p: Params) -> Definition:
    return _checked(p, {"k": 3}, Definition(dataset, "sample", {}, _key(p), _weights(p)))


_READERS: dict[int, Callable[[str, Params], Definition]] = {
    1: _count_min,
    2: _bloom,
    3: _ams,
    4: _dft,
    5: _lsh,
    6: _coreset,
    7: _hyperloglog,
    8: _sticky_sampling,
    9: _lossy_counting,
    10: _chain_sampler,
    11: _quantiles,
    12: _maritime,
    13: _top_k,
    14: _sample,
    15: _sample,
    16: _window_quantiles,
}
_NOT_HERE = {
    25: "a kind that the engine knows: no class is loaded from a jar",
    30: "another kind: there is no spatial sketch here",
    31: "another kind: there is no OmniSketch here",
}


def _timed(time: str, **fields: Any) -> Definition:
    """A definition of scope `stream` whose tuples tell their time in a field of their own."""
    return Definition(scope=STREAM_SCOPE, time=time, **fields)
