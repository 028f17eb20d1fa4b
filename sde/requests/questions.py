"""What one shard holds of the synopses that a question is about."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from sde.banks.intervals import Interval
from sde.banks.layer import WHOLE_STREAM, Held, Layer
from sde.banks.panes import PanedLayer
from sde.plugins.failure import PluginFailure
from sde.records.left_out import LeftOut
from sde.records.result import PackedPlugin, Part, States
from sde.records.streams import pack_streams
from sde.registry.registry import Instance
from sde.requests.digests import LARGEST
from sde.requests.keys import check_key
from sde.shard.shard import Shard, stream_key
from sde.wire import DATASET_SCOPE, Ask, Code, Definition, Export, Refusal, Span, SynopsisInfo
from sde.wire.windows import SESSION
from synopses import Streams, Synopsis
from synopses.common_window import CommonWindow
from synopses.questions import Question

_NOTHING = LeftOut()


def info_of(instance: Instance) -> SynopsisInfo:
    return instance.definition.info(instance.since)


def packed_plugin(shard: Shard, kind: str) -> PackedPlugin | None:
    """The class of a plug-in for the task that merges; None for a kind of the library."""
    version = shard.registry.shelf.versions.get(kind)
    if version is None:
        return None
    return PackedPlugin(version, shard.registry.shelf.sizes_of(kind))


def heading(shard: Shard, instances: list[Instance]) -> States:
    """What merge must know of the synopses: their definitions, and a plug-in's class."""
    plugin = packed_plugin(shard, instances[0].definition.kind)
    return States(about=[info_of(instance) for instance in instances], plugin=plugin)


def check_question(shard: Shard, request: Ask, instances: list[Instance]) -> Question:
    """The question that is asked; Refusal or QueryError if it does not fit the synopses."""
    first = instances[0]
    shard.registry.shelf.require_sound(first.definition.kind)
    if any(i.bank != first.bank for i in instances):
        raise Refusal(
            Code.BAD_QUERY, "uids: expected synopses of the same kind and parameters", "uids"
        )
    kind = type(shard.template(first))
    question, _ = kind.check_query(request.query, len(instances) - 1)
    if question.across:
        if request.stream is not None:
            raise Refusal(
                Code.BAD_QUERY, f"stream: {question.name} is asked of all streams", "stream"
            )
        if first.definition.scope == DATASET_SCOPE or first.definition.stream is not None:
            raise Refusal(
                Code.BAD_QUERY, f'{question.name} needs a synopsis of scope "stream"', "uid"
            )
    else:
        for instance in instances:
            stream_of(instance.definition, request.stream)
    for instance in instances:
        _check_span(instance, request.span)
        check_key(instance.definition, request.query)
    return question


def ask(
    shard: Shard,
    request: Ask,
    at: int | None,
    for_sites: bool = False,
    repeatable: bool = False,
) -> States:
    """`at`: the moment whose window is meant where the shards must agree on one.

    `for_sites`: other sites have parts of it too, so that a shard never knows all of a stream.
    `repeatable`: it can be asked again if the shards differ; watches are answered now or never,
    and without a digest, which all of them would pay for.
    """
    try:
        return _ask(shard, request, at, for_sites, repeatable)
    except PluginFailure as failure:
        raise shard.quarantine(failure) from None


def _ask(shard: Shard, request: Ask, at: int | None, for_sites: bool, repeatable: bool) -> States:
    instances = [shard.registry.instance(uid) for uid in request.uids]
    question = check_question(shard, request, instances)
    head = heading_once(shard, instances)
    if question.across:
        streams, tuples = shard.streams(instances[0])
        template = shard.template(instances[0])
        # Asked again, streams have moved on meanwhile: only whole states are sure to be enough.
        if isinstance(template, CommonWindow) and repeatable and not for_sites and at is None:
            streams = Streams(streams.names, template.cut_here(streams.arrays))
        head = replace(head, left_out=_left_out_of_all(shard.layer(instances[0])))
        return replace(head, tuples=[tuples], parts=[Part(pack_streams(streams))])
    if _is_spread_session(instances[0].definition):
        return _cells(shard, instances, head)
    found = [_found(shard, i, request.stream, request.span, at, for_sites) for i in instances]
    alone = not for_sites and stream_of(instances[0].definition, request.stream) is not None
    if len(found) == 1 and found[0].synopsis and alone:  # no other shard has any of it
        synopsis = found[0].synopsis
        estimate = synopsis.estimate(request.query)
        digest = synopsis.digest() if repeatable and synopsis.memory <= LARGEST else ""
        return replace(_figures(head, found), estimate=estimate, digest=digest)
    return replace(_figures(head, found), parts=_states(found))


def export(shard: Shard, request: Export, at: int | None) -> States:
    try:
        return _export(shard, request, at)
    except PluginFailure as failure:
        raise shard.quarantine(failure) from None


def _export(shard: Shard, request: Export, at: int | None) -> States:
    instance = shard.registry.instance(request.uid)
    if request.format != "native" and not hasattr(shard.template(instance), "to_datasketches"):
        raise Refusal(
            Code.BAD_REQUEST,
            f"format={request.format!r}: {instance.definition.kind} has no such form",
            "format",
        )
    shard.registry.shelf.require_sound(instance.definition.kind)
    _check_span(instance, request.span)
    head = heading_once(shard, [instance])
    if _is_spread_session(instance.definition):
        return _cells(shard, [instance], head)
    found = [_found(shard, instance, request.stream, request.span, at, False)]
    return replace(_figures(head, found), parts=_states(found))


def heading_once(shard: Shard, instances: list[Instance]) -> States:
    """From shard 0 alone: the definitions are equal in all."""
    return heading(shard, instances) if shard.number == 0 else States()


@dataclass(frozen=True, slots=True)
class _Found:
    """A shard's part of one synopsis: None if it has none, and then `tuples` is None too."""

    synopsis: Synopsis | None = None
    tuples: int | None = None
    interval: Interval | None = None
    latest: int | None = None  # the latest moment known here, where shards may differ
    left_out: LeftOut = _NOTHING

    @classmethod
    def of(cls, held: Held, layer: Layer, latest: int | None = None) -> _Found:
        left_out = layer.left_out(held.skipped)
        return cls(held.synopsis, held.tuples, held.interval, latest, left_out)


def _figures(head: States, found: list[_Found]) -> States:
    left_out = _told([f.left_out for f in found])
    states = replace(head, tuples=[f.tuples for f in found], left_out=left_out)
    if not any(f.interval for f in found):
        return states
    latest = max((f.latest for f in found if f.latest is not None), default=None)
    return replace(states, windows=[f.interval for f in found], latest=latest)


def _told(left_out: list[LeftOut]) -> list[LeftOut]:
    """Nothing where nothing was left out: that is so nearly always."""
    return left_out if any(one != _NOTHING for one in left_out) else []


def _left_out_of_all(layer: Layer) -> list[LeftOut]:
    """Of a question that is about all streams, or all sessions, of one synopsis."""
    return _told([layer.left_out(int(layer.bank.skipped[layer.slots(None)].sum()))])


def _states(found: list[_Found]) -> list[Part]:
    return [Part(f.synopsis.to_bytes() if f.synopsis else b"") for f in found]


def _found(
    shard: Shard,
    instance: Instance,
    stream: str | None,
    span: Span | None,
    at: int | None,
    for_sites: bool,
) -> _Found:
    definition, layer = instance.definition, shard.layer(instance)
    stream = stream_of(definition, stream)
    if stream is not None and not shard.owns(definition, stream):
        return _Found()
    key = stream_key(definition, stream)
    unknown = _Found(left_out=LeftOut(shed=layer.shed))  # its tuples may have found no room
    if not isinstance(layer, PanedLayer):
        found = layer.synopsis(key)
        return _Found.of(found, layer) if found else unknown
    if layer.window.type == SESSION:
        session = layer.session(layer.slots(key), span)
        return _Found.of(session, layer) if session else unknown
    held = layer.ask(key, span, at if stream is None or for_sites else None)
    if held.synopsis is not None:
        return _Found.of(held, layer, layer.latest)
    if stream is None or definition.stream is not None or len(layer.slots(key)):
        empty = held._replace(synopsis=shard.template(instance).copy())
        return _Found.of(empty, layer, layer.latest)
    return unknown


def _is_spread_session(definition: Definition) -> bool:
    window = definition.window
    return window is not None and window.type == SESSION and definition.scope == DATASET_SCOPE


def _cells(shard: Shard, instances: list[Instance], head: States) -> States:
    """All cells of a data set's sessions: only together do the shards know where one ends."""
    if len(instances) > 1:
        raise Refusal(Code.BAD_QUERY, "uids: expected one synopsis with session windows", "uids")
    layer = shard.layer(instances[0])
    assert isinstance(layer, PanedLayer)
    cells = layer.cells(layer.slots(WHOLE_STREAM))
    return replace(
        head,
        cells=[(c.number, c.first, c.last) for c in cells],
        tuples=[int(layer.bank.tuples[c.holds]) for c in cells],
        left_out=_left_out_of_all(layer),
        parts=[Part(layer.bank.at(c.holds).to_bytes()) for c in cells],
    )


def stream_of(definition: Definition, asked: str | None) -> str | None:
    """The stream a question is about, None for the whole data set."""
    if definition.scope == DATASET_SCOPE:
        expected = "no stream: this synopsis is of the whole data set"
        fits = asked is None
    elif definition.stream is None:
        expected = "the name of a stream"
        fits = asked is not None
    else:
        expected = f"{definition.stream!r}, the stream of this synopsis"
        fits = asked in (None, definition.stream)
    if not fits:
        raise Refusal(Code.BAD_QUERY, f"stream={asked!r}: expected {expected}", "stream")
    return definition.stream or asked


def _check_span(instance: Instance, span: Span | None) -> None:
    if span is not None and not instance.has_panes:
        raise Refusal(
            Code.BAD_QUERY, "end, from, to: expected only for a synopsis with a window", "end"
        )
