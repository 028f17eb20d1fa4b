"""The partials of a site's shards become the one contribution of the site."""

from __future__ import annotations

from typing import Any

from sde.federation.frames import Content
from sde.gathered import Gathered
from sde.messages import Ask, Request
from sde.partial import Partial, join_streams, pack_streams, unpack_streams


def contribution(request: Request, partials: list[Partial]) -> Content:
    """Partials without a fault, of all shards; WindowsDiffer if they mean different windows."""
    if not isinstance(request, Ask):
        return Content({"ok": partials[0].head["ok"]})
    head: dict[str, Any] = {"about": partials[0].head["about"]}
    if "cells" in partials[0].head:
        return _cells(head, partials)
    gathered = Gathered(partials, request.span)
    asked, _ = gathered.kind.check_query(request.query, len(head["about"]) - 1)
    if asked.across:
        streams = join_streams([unpack_streams(p.parts[0]) for p in partials])
        head["tuples"] = [sum(p.head["tuples"][0] for p in partials)]
        return Content(head, [pack_streams(streams)])
    head |= _windows(gathered, partials)
    head["tuples"] = [
        _sum(p.head["tuples"][i] for p in partials) for i in range(len(head["about"]))
    ]
    held = zip(gathered.merged, head["tuples"], strict=True)
    return Content(head, [b"" if tuples is None else one.to_bytes() for one, tuples in held])


def _sum(tuples: Any) -> int | None:
    """None: no shard has any part of it."""
    told = [t for t in tuples if t is not None]
    return sum(told) if told else None


def _cells(head: dict[str, Any], partials: list[Partial]) -> Content:
    """Where a session ends is known only when the cells of all sites are together."""
    for name in ("cells", "tuples"):
        head[name] = [one for p in partials for one in p.head[name]]
    return Content(head, [part for p in partials for part in p.parts])


def _windows(gathered: Gathered, partials: list[Partial]) -> dict[str, Any]:
    interval = gathered.interval
    if interval is None:
        return {}
    told = [p.head for p in partials if p.head.get("windows")]
    latest = max((h["latest"] for h in told if h["latest"] is not None), default=None)
    return {"windows": told[0]["windows"], "latest": latest}
