"""Contributions are input from outside: each is checked before it is merged with anything."""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec.structs import replace

from sde.plugins.remote import Remote
from sde.records.result import Part, States
from sde.records.streams import pack_streams, unpack_streams
from sde.requests.gathered import Gathered, kind_of
from sde.wire import Ask, Refusal, SynopsisInfo
from sde.wire.framing import FramingError
from synopses import KINDS, Streams, SynopsisError
from synopses.base import BankedSynopsis, Synopsis

_SAME = ("dataset", "kind", "params", "key", "value", "where", "scope", "window", "time")


class Unusable(Exception):
    """Why a contribution is left out."""


def require_usable(
    states: States, sha256: str, request: Ask, expected: list[SynopsisInfo] | None
) -> None:
    """Unusable if states cannot be merged with those of synopses defined as `expected`.

    `sha256`: of the plug-in at the site they come from; `states.plugin` is the one of this site.
    """
    try:
        _check(states, sha256, request, expected)
    except Refusal as refusal:
        raise Unusable(refusal.fault.message) from None
    except (SynopsisError, FramingError) as error:
        raise Unusable(f"its state cannot be used: {error}"[:300]) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise Unusable(f"its contribution is damaged: {error!r}"[:300]) from None


def _check(states: States, sha256: str, request: Ask, expected: list[SynopsisInfo] | None) -> None:
    about, parts = states.about, states.parts
    if len(about) != len(request.uids):
        raise Unusable(f"it told of {len(about)} synopses, expected {len(request.uids)}")
    if expected is not None:
        for mine, theirs in zip(expected, about, strict=True):
            _require_same(mine, theirs)
    templates = [_template(states, sha256, info) for info in about]
    _check_figures(states, len(about))
    asked, _ = templates[0].check_query(request.query, len(about) - 1)
    if asked.across:
        _check_streams(unpack_streams(parts[0].data), templates[0])
        return
    for number, part in enumerate(parts):
        template = templates[0 if states.cells is not None else number]
        if part.data:
            _check_state(type(template).from_bytes(part.data), template)


def _check_state(synopsis: Synopsis, template: Synopsis) -> None:
    if synopsis.params != template.params:
        raise Unusable("its state has other parameters than its definition")
    if isinstance(synopsis, Remote):
        synopsis.verify()


def _require_same(mine: SynopsisInfo, theirs: SynopsisInfo) -> None:
    ours, other = msgspec.to_builtins(mine), msgspec.to_builtins(theirs)
    for name in _SAME:
        if ours.get(name) != other.get(name):
            raise Unusable(
                f"{name}={other.get(name)!r}: expected {ours.get(name)!r}, as at the other sites"[
                    :300
                ]
            )


def _template(states: States, sha256: str, info: SynopsisInfo) -> Synopsis:
    """An empty synopsis as a site says it is defined; SynopsisError if nothing can be.

    A plug-in is that of this site; the other must have the same.
    """
    kind, plugin = info.kind, states.plugin
    if kind in KINDS:
        return KINDS[kind](**info.params)
    if plugin is None or kind != plugin.version.kind:
        raise Unusable(f"kind={kind!r}: no kind that is known here"[:300])
    if sha256 != plugin.version.sha256:
        raise Unusable(f"{kind} is another plug-in there, with the same name")
    return kind_of(kind, plugin)(**info.params)


def _check_figures(states: States, synopses: int) -> None:
    tuples, parts, cells = states.tuples, len(states.parts), states.cells
    if states.about[0].since < 0:
        raise Unusable("its numbers of tuples are no counts")
    if cells is not None:
        if not len(cells) == len(tuples) == parts or None in tuples:
            raise Unusable("its sessions are damaged")
    elif len(tuples) != synopses or parts != synopses:
        raise Unusable(f"it has {parts} states, expected {synopses}")


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


def apart(contributions: dict[str, States], request: Ask) -> list[States]:
    """A stream with the same name at two sites is two streams: the later ones say where."""
    states = list(contributions.values())
    asked, _ = Gathered(states, None).kind.check_query(request.query, len(request.uids) - 1)
    if not asked.across:
        return states
    seen: set[str] = set()
    renamed = []
    for site, one in contributions.items():
        streams = unpack_streams(one.parts[0].data)
        names = [f"{name}@{site}" if name in seen else name for name in streams.names]
        seen.update(streams.names)
        part = Part(pack_streams(Streams(names, streams.arrays)))
        renamed.append(replace(one, parts=[part]))
    return renamed
