"""Definitions: which can be kept, and with which parameters."""

from __future__ import annotations

from dataclasses import replace

from sde.limits import StateLimits
from sde.messages import DATASET_SCOPE, Code, Definition, Refusal
from sde.plugins.shelf import Shelf
from synopses import ParameterError, Synopsis


def _own_window(definition: Definition, kind: type[Synopsis]) -> Definition:
    """A window by count of a kind that keeps windows by time: so many intervals."""
    window = definition.window
    fits = {"interval", "window", "basic_window"} <= kind.parameters.keys()
    if window is None or kind.mergeable or not (window.count and fits):
        return definition
    interval = definition.params.get("interval", kind.parameters["interval"].default)
    if not isinstance(interval, int | float):
        return definition  # refused with the other parameters
    lengths = {"window": window.size * interval, "basic_window": window.slide * interval}
    return replace(definition, params={**definition.params, **lengths})


def complete(definition: Definition, limits: StateLimits, kinds: Shelf) -> Definition:
    """The definition with every parameter filled in; Refusal if it cannot be kept."""
    definition = replace(definition, kind=kinds.resolve(definition.kind))
    kind = kinds[definition.kind]
    definition = _own_window(definition, kind)
    try:
        template = kind(**definition.params)
    except ParameterError as error:
        raise Refusal(Code.BAD_PARAMETER, str(error), f"params.{error.name}") from None
    if template.memory > limits.max_synopsis_bytes:
        raise Refusal(
            Code.LIMIT_EXCEEDED,
            f"one {kind.kind} with these parameters takes {template.memory} bytes: expected at "
            f"most {limits.max_synopsis_bytes}",
            "params",
        )
    _check_fields(definition, template)
    _check_time(definition, template)
    _check_scope(definition, template)
    _check_window(definition, template, limits)
    return replace(definition, params=template.params)


def _check_fields(definition: Definition, template: Synopsis) -> None:
    reads_key = bool(template.reads & {"keys", "texts"})
    if reads_key and not definition.key:
        raise Refusal(
            Code.BAD_REQUEST, f"key=None: {definition.kind} needs the field of its keys", "key"
        )
    if "values" not in template.reads:
        return
    needed = getattr(template, "value_fields", 1)
    needed = getattr(template, needed) if isinstance(needed, str) else needed
    optional = reads_key and needed == 1
    if len(definition.values) != needed and not (optional and not definition.values):
        raise Refusal(
            Code.BAD_REQUEST,
            f"value={list(definition.values)!r}: {definition.kind} needs {needed} value field(s)",
            "value",
        )


def _check_time(definition: Definition, template: Synopsis) -> None:
    if definition.time and "times" not in template.reads:
        raise Refusal(
            Code.BAD_REQUEST,
            f"time={definition.time!r}: {definition.kind} does not read times; windows have a "
            "`time` of their own",
            "time",
        )


def _check_scope(definition: Definition, template: Synopsis) -> None:
    if definition.scope == DATASET_SCOPE and not template.mergeable:
        raise Refusal(
            Code.NOT_MERGEABLE,
            f'{definition.kind} cannot be merged over shards: expected scope "stream" or a stream',
            "scope",
        )
    if definition.idle is not None and (
        definition.scope == DATASET_SCOPE or definition.stream is not None
    ):
        raise Refusal(
            Code.BAD_REQUEST, 'idle: expected only with scope "stream"; use ttl otherwise', "idle"
        )


def _check_window(definition: Definition, template: Synopsis, limits: StateLimits) -> None:
    window = definition.window
    if window is None:
        return
    if not template.mergeable:
        if window.count and hasattr(template, "interval"):
            return
        raise Refusal(
            Code.NOT_MERGEABLE,
            f"{definition.kind} cannot be merged from panes: expected no window (it keeps one of "
            "its own, by its parameters)",
            "window",
        )
    if window.count and definition.scope == DATASET_SCOPE:
        raise Refusal(
            Code.BAD_REQUEST,
            'window.size: a window by count needs scope "stream" or a stream, because tuples of '
            "different streams have no common order",
            "window.size",
        )
    panes = window.panes
    if panes > limits.max_panes:
        raise Refusal(
            Code.LIMIT_EXCEEDED,
            f"window: {panes} panes would be kept, expected at most {limits.max_panes}; take a "
            "longer slide, or a shorter size, keep or lateness",
            "window",
        )
    if panes * template.memory > limits.max_synopsis_bytes:
        raise Refusal(
            Code.LIMIT_EXCEEDED,
            f"window: {panes} panes of {template.memory} bytes: expected at most "
            f"{limits.max_synopsis_bytes} bytes together",
            "window",
        )
