"""What a reply warns of: tuples that are not in an answer, topics that are not there."""

from __future__ import annotations

from collections.abc import Iterable

from sde.records.left_out import LeftOut
from sde.wire import SynopsisInfo
from sde.wire.durations import moment_text
from sde.wire.sources import Mapping
from synopses import Estimate


def nothing_fitted(tuples: int, left_out: LeftOut, time_known: bool) -> bool:
    """Whether nothing was counted because nothing that came could be: then no value is true.

    `time_known`: tuples with a time have come, so that an empty window is empty.
    """
    if tuples:
        return False
    untimed = left_out.untimed + left_out.future
    never_added = left_out.skipped + left_out.shed + left_out.missed
    return bool(never_added or (untimed and not time_known))


def warnings_of(about: SynopsisInfo, tuples: int, left_out: LeftOut) -> list[str]:
    """One sentence for each reason why tuples are not in the answer, which is about `tuples`."""
    window = about.window or {}
    found = []
    if left_out.skipped:
        found.append(_skipped(about, tuples, left_out.skipped))
    if left_out.untimed:
        field = window.get("time", "time")
        found.append(f"{_dropped(left_out.untimed)}: no time in {str(field)!r}")
    if left_out.late:
        lateness = window.get("lateness", "0s")
        found.append(f"{_dropped(left_out.late)}: too late, by more than {lateness}")
    if left_out.future:
        found.append(
            f"{_dropped(left_out.future)}: ahead of their arrival by more than the window's skew"
        )
    if left_out.shed:
        found.append(f"{_dropped(left_out.shed)}: no room for them within the limits")
    if left_out.missed:
        found.append(f"{_dropped(left_out.missed)}: the plug-in was in quarantine")
    if left_out.still_counted:
        found.append(_still_counted(about, left_out.still_counted))
    if left_out.excluded and not left_out.included:
        found.append(f"where ({about.where}) was true of none of {_tuples(left_out.excluded)}")
    return found


def not_begun(window: tuple[int, int], known: Iterable[int | None]) -> list[str]:
    """That a window which is asked for is empty because its time has not come.

    `known`: the latest time of a tuple so far in each shard, if one has come.

    >>> not_begun((60_000, 120_000), [59_000, 60_000])
    []
    >>> (warning,) = not_begun((60_000, 120_000), [59_000, None])
    >>> warning
    'the window begins at 1970-01-01T00:01:00Z: the latest tuple so far is of 1970-01-01T00:00:59Z'
    """
    latest = max((moment for moment in known if moment is not None), default=None)
    if latest is None or latest >= window[0]:
        return []
    begin, so_far = moment_text(window[0]), moment_text(latest)
    return [f"the window begins at {begin}: the latest tuple so far is of {so_far}"]


def without_full_window(estimate: Estimate) -> list[str]:
    """That streams take no part, where that may be why there is no value, or no row of them.

    >>> young = {"streams": 1, "without_full_window": 4, "ahead": 0}
    >>> without_full_window(Estimate([], details=young))
    ['4 of 5 streams take no part: they have no full window yet']
    >>> without_full_window(Estimate(0.5, details=young))
    []
    """
    young = estimate.details.get("without_full_window")
    if not young or not (estimate.value is None or isinstance(estimate.value, list)):
        return []
    streams = young + estimate.details["streams"] + estimate.details["ahead"]
    return [f"{young:,} of {streams:,} streams take no part: they have no full window yet"]


def topic_warnings(mapping: Mapping, topics: Iterable[str] | None) -> list[str]:
    """That none of these topics is read by a source, if so; None: nobody knows which there are.

    >>> topic_warnings(Mapping(topic="fx-*"), ["sx-1"])
    ["no topic fits 'fx-*' yet: those that come will be read"]
    """
    if topics is None or any(map(mapping.reads, topics)):
        return []
    if "*" in mapping.topic:
        return [f"no topic fits {mapping.topic!r} yet: those that come will be read"]
    return [f"topic {mapping.topic!r} does not exist yet: it will be read when it does"]


def _skipped(about: SynopsisInfo, tuples: int, skipped: int) -> str:
    """
    >>> info = SynopsisInfo(dataset="d", kind="k", params={}, scope="dataset", since=0, key="id")
    >>> _skipped(info, 0, 50_000)
    "field 'id' was in none of 50,000 tuples"
    >>> _skipped(info, 40_000, 10_000)
    "field 'id' was missing in 10,000 of 50,000 tuples, which were left out"
    >>> info = SynopsisInfo(dataset="d", kind="k", params={}, scope="dataset", since=0, value="px")
    >>> _skipped(info, 40_000, 10_000)
    "field 'px' was missing or no number in 10,000 of 50,000 tuples, which were left out"
    """
    fields = [
        *((repr(name), "") for name in _names(about.key)),
        *((repr(name), "number") for name in _names(about.value)),
        *([(repr(about.time), "time")] if about.time else []),
    ]
    came = _tuples(tuples + skipped)
    if len(fields) == 1:
        ((name, type_),) = fields
        named, wrong = f"field {name}", f"missing or no {type_}" if type_ else "missing"
        none = f"a {type_} in none of" if type_ else "in none of"
    else:
        texts = [f"{name} (a {type_})" if type_ else name for name, type_ in fields]
        is_typed = any(type_ for _, type_ in fields)
        named = f"one of the fields {', '.join(texts)}"
        wrong = "missing or not of its type" if is_typed else "missing"
        none = f"{wrong} in all"
    if not tuples:
        return f"{named} was {none} {came}"
    return f"{named} was {wrong} in {skipped:,} of {came}, which were left out"


def _still_counted(about: SynopsisInfo, count: int) -> str:
    """
    >>> info = SynopsisInfo(dataset="d", kind="bloom", params={}, scope="dataset", since=0)
    >>> _still_counted(info, 1)
    '1 row that was deleted is still counted: bloom cannot take tuples away'
    """
    rows = "1 row that was deleted is" if count == 1 else f"{count:,} rows that were deleted are"
    what = f"{about.kind} in such a window" if about.window else about.kind
    return f"{rows} still counted: {what} cannot take tuples away"


def _names(fields: str | list[str]) -> list[str]:
    return fields if isinstance(fields, list) else [fields] if fields else []


def _dropped(count: int) -> str:
    return f"{_tuples(count)} {'was' if count == 1 else 'were'} dropped"


def _tuples(count: int) -> str:
    return "1 tuple" if count == 1 else f"{count:,} tuples"
