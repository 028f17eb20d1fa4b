"""The partials of a site's shards become the one contribution of the site."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from sde.federation.frames import Content
from sde.plugins.failure import PluginFailure
from sde.records.partial import Partial, join_streams, pack_streams, require_all, unpack_streams
from sde.requests.changing import internal
from sde.requests.gathered import Gathered, WindowsDiffer
from sde.wire import Ask, Refusal, Request

_log = logging.getLogger(__name__)


def contribution(request: Request, partials: list[Partial]) -> Content:
    """What a site has to say, if only a fault.

    WindowsDiffer if its shards mean different ones; PluginFailure if its plug-in misbehaves.
    """
    try:
        require_all(partials)
        return _contribution(request, partials)
    except Refusal as refused:
        return Content({"fault": asdict(refused.fault)})
    except (WindowsDiffer, PluginFailure):
        raise
    except Exception as error:  # a defect in a kind must not stop every other answer
        _log.exception("no contribution to %r", request)
        return Content({"fault": asdict(internal(error))})


def _contribution(request: Request, partials: list[Partial]) -> Content:
    if not isinstance(request, Ask):
        return Content({"ok": partials[0].head["ok"]})
    head: dict[str, Any] = {"about": partials[0].head["about"]}
    if "plugin" in partials[0].head:  # not the plug-in itself: each site runs its own
        head["sha256"] = partials[0].head["plugin"]["version"]["sha256"]
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
