"""The partials of a site's shards become the one contribution of the site, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from sde.federation.frames import Content
from sde.records.partial import Reply, SiteWatchStates
from sde.records.result import Done, PackedPlugin, Part, Result, States
from sde.records.sites import Contribution
from sde.records.streams import join_streams, pack_streams, unpack_streams
from sde.requests.boundary import Quarantine, fault_of
from sde.requests.completeness import require_all
from sde.requests.gathered import Gathered, WindowsDiffer
from sde.wire import Ask, Code, Refusal, Request


def contribution(
    key: str,
    request: Request,
    partials: Sequence[Reply | SiteWatchStates],
    quarantine: Quarantine,
) -> Content:
    """What a site has to say, if only a fault. WindowsDiffer if its shards mean different ones."""
    try:
        return _contribution(key, request, require_all(partials))
    except WindowsDiffer:
        raise
    except Exception as error:
        return Content(Contribution(key=key, fault=fault_of(error, request, quarantine)))


def _contribution(key: str, request: Request, results: list[Result]) -> Content:
    match results[0]:
        case Done() as done:
            return Content(Contribution(key=key, ok=done.fields()))
        case States():
            assert isinstance(request, Ask)
            return _states(key, request, [s for s in results if isinstance(s, States)])
        case _:
            raise Refusal(Code.BAD_REQUEST, f"{request.op} is asked of one site")


def _states(key: str, request: Ask, states: list[States]) -> Content:
    first = states[0]
    about, plugin = first.about, first.plugin
    sha256 = plugin.version.sha256 if plugin else ""  # not the plug-in: each site runs its own
    gathered = Gathered(states, request.span)
    known = Contribution(key=key, about=about, sha256=sha256, left_out=gathered.left_out)
    if first.cells is not None:  # where a session ends is known when those of all sites met
        cells = [cell for s in states for cell in s.cells or ()]
        counts = [count for s in states for count in s.tuples]
        parts = [part.data for s in states for part in s.parts]
        return Content(replace(known, tuples=counts, cells=cells), parts)
    asked, _ = gathered.kind.check_query(request.query, len(about) - 1)
    if asked.across:
        streams = join_streams([unpack_streams(s.parts[0].data) for s in states])
        total = sum(s.tuples[0] or 0 for s in states)
        return Content(replace(known, tuples=[total]), [pack_streams(streams)])
    tuples = [_sum(s.tuples[i] for s in states) for i in range(len(about))]
    windowed = [s for s in states if s.windows] if gathered.interval is not None else []
    latest = max((s.latest for s in windowed if s.latest is not None), default=None)
    windows = windowed[0].windows if windowed else []
    head = replace(known, tuples=tuples, windows=windows, latest=latest)
    found = zip(gathered.merged, tuples, strict=True)
    return Content(head, [b"" if count is None else one.to_bytes() for one, count in found])


def _sum(counts: Iterable[int | None]) -> int | None:
    """None: no shard has any part of it."""
    found = [count for count in counts if count is not None]
    return sum(found) if found else None


def states_of(head: Contribution, parts: list[bytes], plugin: PackedPlugin | None) -> States:
    """A contribution of states as merge takes those of shards."""
    return States(
        about=head.about,
        plugin=plugin,
        tuples=list(head.tuples),
        left_out=list(head.left_out),
        windows=list(head.windows),
        latest=head.latest,
        cells=head.cells,
        parts=[Part(part) for part in parts],
    )
