"""Contributions are input from outside: each is checked before it is merged with anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from sde.plugins.remote import Remote
from sde.plugins.shelf import kind_in
from sde.records.partial import Partial, pack_streams, unpack_streams
from sde.requests.gathered import Gathered
from sde.wire import Ask, Code, Fault, Refusal
from sde.wire.framing import FramingError
from synopses import KINDS, Streams, SynopsisError
from synopses.base import BankedSynopsis, Synopsis

_SAME = ("dataset", "kind", "params", "key", "value", "scope", "window", "time")


class Unusable(Exception):
    """Why a contribution is left out."""


def usable(given: Partial, request: Ask, expected: list[dict[str, Any]] | None) -> Partial:
    """The contribution, if it can be merged with those of synopses defined as `expected`."""
    head = given.head
    if "fault" in head:
        raise Unusable(fault_of(head).message)
    try:
        return _checked(given, request, expected)
    except Refusal as refusal:
        raise Unusable(refusal.fault.message) from None
    except (SynopsisError, FramingError) as error:
        raise Unusable(f"its state cannot be used: {error}"[:300]) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise Unusable(f"its contribution is damaged: {error!r}"[:300]) from None


def fault_of(head: dict[str, Any]) -> Fault:
    """The fault a site told, however it told it."""
    held = head["fault"] if isinstance(head.get("fault"), dict) else {}
    try:
        code = Code(held.get("code", ""))
    except ValueError:
        code = Code.INTERNAL
    return Fault(code, str(held.get("message", "a fault"))[:300], str(held.get("field", ""))[:100])


def _checked(given: Partial, request: Ask, expected: list[dict[str, Any]] | None) -> Partial:
    head, parts = given.head, given.parts
    about = head["about"]
    if len(about) != len(request.uids):
        raise Unusable(f"it told of {len(about)} synopses, expected {len(request.uids)}")
    if expected is not None:
        for mine, theirs in zip(expected, about, strict=True):
            _require_same(mine, theirs)
    templates = [_template(head, one) for one in about]
    _check_figures(head, len(about), len(parts))
    asked, _ = templates[0].check_query(request.query, len(about) - 1)
    if asked.across:
        _check_streams(unpack_streams(parts[0]), templates[0])
        return given
    for number, part in enumerate(parts):
        template = templates[0 if "cells" in head else number]
        if part:
            _check_state(type(template).from_bytes(part), template)
    return given


def _check_state(synopsis: Synopsis, template: Synopsis) -> None:
    if synopsis.params != template.params:
        raise Unusable("its state has other parameters than its definition")
    if isinstance(synopsis, Remote):
        synopsis.verify()


def _require_same(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    for name in _SAME:
        if mine.get(name) != theirs.get(name):
            raise Unusable(
                f"{name}={theirs.get(name)!r}: expected {mine.get(name)!r}, as at the other sites"[
                    :300
                ]
            )


def _template(head: dict[str, Any], about: dict[str, Any]) -> Synopsis:
    """An empty synopsis as a site says it is defined; SynopsisError if nothing can be.

    A plug-in is that of this site; the other must have the same.
    """
    kind, params, plugin = about["kind"], about["params"], head.get("plugin")
    if isinstance(params, dict) and kind in KINDS:
        return KINDS[kind](**params)
    if plugin is None or not isinstance(params, dict) or kind != kind_in(head).kind:
        raise Unusable(f"kind={kind!r}: no kind that is known here"[:300])
    if head.get("sha256") != plugin["version"]["sha256"]:
        raise Unusable(f"{kind} is another plug-in there, with the same name")
    return kind_in(head)(**params)


def _check_figures(head: dict[str, Any], synopses: int, parts: int) -> None:
    tuples = head["tuples"]
    if not all(t is None or _is_count(t) for t in tuples) or not _is_count(
        head["about"][0]["since"]
    ):
        raise Unusable("its numbers of tuples are no counts")
    cells = head.get("cells")
    if cells is not None:
        fits = len(cells) == len(tuples) == parts and None not in tuples
        if not fits or any(len(c) != 3 or not all(map(_is_whole, c)) for c in cells):
            raise Unusable("its sessions are damaged")
    elif len(tuples) != synopses or parts != synopses:
        raise Unusable(f"it has {parts} states, expected {synopses}")
    for window in head.get("windows") or ():
        if window is not None and (len(window) != 2 or not all(map(_is_whole, window))):
            raise Unusable("its window is damaged")
    if head.get("windows") and not (head.get("latest") is None or _is_whole(head["latest"])):
        raise Unusable("its window is damaged")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62


def _is_count(value: Any) -> bool:
    return _is_whole(value) and value >= 0


def _check_streams(streams: Streams, template: Synopsis) -> None:
    """The arrays must be as the kind lays them out: kernels do not look again."""
    assert isinstance(template, BankedSynopsis)
    layout = template.layout()
    wanted = template.across_arrays or tuple(layout)
    if set(streams.arrays) != set(wanted) or not all(isinstance(n, str) for n in streams.names):
        raise Unusable("its streams are damaged")
    for name in wanted:
        dtype, shape = layout[name]
        array = streams.arrays[name]
        if array.dtype != np.dtype(dtype) or array.shape != (len(streams.names), *shape):
            raise Unusable(f"its streams are damaged: {name} has another form")


def apart(contributions: dict[str, Partial], request: Ask) -> list[Partial]:
    """A stream with the same name at two sites is two streams: the later ones say where."""
    partials = list(contributions.values())
    asked, _ = Gathered(partials, None).kind.check_query(request.query, len(request.uids) - 1)
    if not asked.across:
        return partials
    seen: set[str] = set()
    told = []
    for site, partial in contributions.items():
        streams = unpack_streams(partial.parts[0])
        names = [f"{name}@{site}" if name in seen else name for name in streams.names]
        seen.update(streams.names)
        part = pack_streams(Streams(names, streams.arrays))
        told.append(
            Partial(partial.arrived, partial.shard, partial.of, partial.batch, partial.head, [part])
        )
    return told
