"""ingest: bytes become blocks, requests and dead letters, each bound for its shards.

messages of the data topics ────> on_data ─────> blocks (one shard each), letters
dead letters of a source ───────> refused_of ──> how many there are (one shard)
messages of the request topic ──> on_requests ─> requests (every shard)
messages of the peers topic ────> on_peers ────> what other sites ask (every shard) and say (one)
messages of the union topic ────> on_loop ─────> what the engine tells itself (every shard)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import orjson
from msgspec import structs

from sde.decoding import Decoded, Limits, Messages, decode_records, decode_tuples
from sde.decoding.letters import count_refused
from sde.decoding.mapping import Mapper
from sde.decoding.preview import preview
from sde.decoding.schemas import Schemas, no_schemas
from sde.federation.frames import is_frame
from sde.federation.ingest import from_own, from_site, from_unsealed, stray
from sde.federation.peers import Peers
from sde.federation.request import split
from sde.infore import is_infore, translate
from sde.plugins.trust import Trust
from sde.records.arrived import Arrived, FromSite, FromSource, Told
from sde.records.asked import AnyAsked, Asked, AskedInfore, Attached, Unreadable
from sde.records.loop import (
    Admit,
    Admitted,
    Due,
    Loop,
    Noted,
    Sourced,
    decode_loop,
    decode_unsealed,
)
from sde.records.position import Position
from sde.records.seal import Forged, LoopSeal, NotOurs, is_sealed
from sde.records.sources import ReadSource
from sde.records.versions import Place
from sde.requests.warnings import topic_warnings
from sde.shard.versions import Versions
from sde.tuples.needs import NeedsByDataset
from sde.wire import (
    Code,
    Create,
    Fault,
    Import,
    Plugin,
    Refusal,
    RemoveSnapshot,
    ReplyFields,
    Request,
    Restore,
    Snapshot,
    Snapshots,
    dead_letter,
    decode_request,
)
from sde.wire.forms import refuse
from sde.wire.sources import TUPLES, Mapping, Preview, Source, Sources

# Bytes of a request that carries no state. A question may go round the loop, or to other sites,
# inside a message that is a little larger: all topics must take that.
_LARGEST_REQUEST = 4 << 20
_ABOUT_VERSIONS = (Restore, Snapshot, Snapshots, RemoveSnapshot)
_ABOUT_TOPICS = (Source, Preview, Sources)
_IMPORT = str(Import.__struct_config__.tag)
_LARGEST_WITH_ID = 1 << 20  # bytes of a request that was passed over
_DEEPEST = 32  # levels of a request: more can be read than can be written down again


class Topics(Protocol):
    """What can be seen of the topics that sources may read: told by who knows Kafka."""

    def names(self) -> list[str] | None:
        """Those that there are; None if nobody tells."""

    def last_messages(self, request: Preview) -> list[Messages]:
        """Some of the topics that a preview is about; Refusal if there are none."""


def refused_of(read: ReadSource, letters: Sequence[ReplyFields]) -> FromSource:
    """What shard 0 is told of the dead letters of a source."""
    refused = count_refused(letters)
    return FromSource(source=read.source.name, changed=read.changed, refused=refused)


class Ingest:
    """`versions`: where snapshots are kept, None for nowhere. `seal`: of what comes by the loop.

    `trust`: whose plug-ins are taken. What lies in files is looked up here, once for all shards.
    """

    def __init__(
        self,
        shards: int,
        limits: Limits,
        seal: LoopSeal,
        versions: Versions | None = None,
        peers: Peers | None = None,
        trust: Trust = Trust(),  # noqa: B008
        schemas: Schemas = no_schemas,
        own_topics: tuple[str, ...] = (),
        topics: Topics | None = None,
    ) -> None:
        self.shards = shards
        self._limits, self._versions, self._seal = limits, versions, seal
        self._trust, self._schemas = trust, schemas
        self._own_topics, self._topics = frozenset(own_topics), topics
        self._peers = peers or Peers()
        self._engine = _identity(seal.checkpoint)

    def on_data(
        self,
        messages: Messages,
        wanted: NeedsByDataset | None = None,
        source: Mapping | None = None,
    ) -> Decoded:
        """`wanted` is what has to be kept of the tuples, as far as that is known.

        `source` says how to read records of others; without it they are tuples.
        """
        if source is None or source.format == TUPLES:
            decoded = decode_tuples(messages, self.shards, self._limits, wanted)
        else:
            decoded = decode_records(
                messages, Mapper(source), self.shards, self._limits, wanted, self._schemas
            )
        if len(self._peers.sites) > 1:  # records of different sites must not pass for the same one
            topic = f"{self._peers.site}/{messages.topic}"
            return replace(decoded, blocks=[replace(b, topic=topic) for b in decoded.blocks])
        return decoded

    def on_requests(self, messages: Messages) -> list[Arrived]:
        arrived: list[Arrived] = []
        for payload, position, time in _each(messages):
            # Where sites of earlier versions wrote to.
            if is_frame(payload) and self._seal.is_older(position.topic, position.offset):
                arrived.append(from_site(payload, position, time, self._peers, is_older=True))
            else:
                arrived.append(self._request(payload, position, time))
        return arrived

    def on_peers(self, messages: Messages) -> list[Arrived]:
        """What is from no site we know is only counted: nobody waits for a reply."""
        return [from_site(*each, self._peers) for each in _each(messages)]

    def passed_over(self, message: Messages, fault: Fault) -> Unreadable:
        """What stands for one request that cannot be handled, under its id if it tells one."""
        ((payload, position, time),) = _each(message)
        return Unreadable(position=position, time=time, fault=fault, id=_id_of(payload))

    def on_loop(self, messages: Messages) -> tuple[list[Arrived], list[ReplyFields]]:
        """What the engine told itself; dead letters for what others want it to believe.

        Such a letter is counted, too. What another engine told itself is left out.
        """
        arrived: list[Arrived] = []
        letters: list[ReplyFields] = []
        for payload, position, time in _each(messages):
            try:
                arrived += self._from_loop(payload, position, time)
            except NotOurs:
                continue
            except Forged as error:
                fault = Fault(Code.UNTRUSTED, f"the engine did not write this: {error}"[:300])
                place = (position.topic, position.partition, position.offset)
                letters.append(dead_letter(*place, 0, fault, payload))
        if letters:
            arrived.append(stray(position, time, count=len(letters)))
        return arrived, letters

    def _from_loop(self, payload: bytes, position: Position, time: int) -> list[Arrived]:
        """NotOurs or Forged if it is nothing that this engine told itself."""
        if not is_sealed(payload):
            return self._from_unsealed(payload, position, time)
        opened = self._seal.open(payload)
        if is_frame(opened.body):
            return [from_own(opened, position, time, self._peers.site)]
        return self._told(decode_loop(opened.body), position, time, opened.batch)

    def _from_unsealed(self, payload: bytes, position: Position, time: int) -> list[Arrived]:
        """What stood in the topic when the seal was made is believed as it was then."""
        is_older = self._seal.is_older(position.topic, position.offset)
        if is_frame(payload):
            if not is_older:
                raise Forged("what other sites say does not come through this topic")
            checkpoint = self._seal.checkpoint
            found = from_unsealed(payload, position, time, self._peers, checkpoint)
            return [found] if isinstance(found, FromSite) else []
        if len(payload) > self._limits.max_message_bytes:
            raise Forged(f"it has {len(payload):,} bytes and is not sealed")
        message = decode_unsealed(payload, self._seal.checkpoint)
        # There are requests in what the engine tells itself.
        deepest = 2 * _DEEPEST
        if not is_older or _depth(orjson.loads(payload), deepest) > deepest:
            raise Forged("it is not sealed")
        return self._told(message, position, time, None)

    def _told(
        self, message: Loop, position: Position, time: int, batch: int | None
    ) -> list[Arrived]:
        if isinstance(message, Due | Admit | Noted | Sourced):  # for the threads beside the query
            return []
        # Keys may have gone since the plug-in was sent.
        trusted = self._trust.trusted if isinstance(message, Admitted) else None
        return [Told(position=position, time=time, message=message, batch=batch, trusted=trusted)]

    # -- requests ---------------------------------------------------------------------------------

    def _distrusted(self, request: Plugin) -> Fault | None:
        """Why a source must not be run here, if so."""
        try:
            self._trust.require(request)
        except Refusal as refusal:
            return refusal.fault
        return None

    def _request(self, payload: bytes, position: Position, time: int) -> AnyAsked:
        message: dict[str, Any] = {}
        try:
            message = self._object(payload)
            if len(payload) > _LARGEST_REQUEST and message.get("op") != _IMPORT:
                raise Refusal(Code.TOO_LARGE, f"{len(payload):,} bytes are too many for a request")
            if is_infore(message):
                attached = self._attached(_translated(message, position), position)
                return AskedInfore(position=position, time=time, message=message, attached=attached)
            request = decode_request(message, str(position))
            request = request.completed() if isinstance(request, Create) else request
            asked = Asked(position=position, time=time, request=request)
            asked = split(asked, self._peers, self._seal.checkpoint)
        except Refusal as refusal:
            return Unreadable(position=position, time=time, fault=refusal.fault, id=_id(message))
        if isinstance(request, (*_ABOUT_VERSIONS, *_ABOUT_TOPICS, Plugin)):
            return structs.replace(asked, attached=self._attached(request, position))
        return asked

    def _object(self, payload: bytes) -> dict[str, Any]:
        """The JSON object in a payload; Refusal if there is none, or it is too large or deep."""
        if len(payload) > self._limits.max_message_bytes:
            raise Refusal(Code.TOO_LARGE, f"{len(payload):,} bytes are too many for a request")
        try:
            message = orjson.loads(payload)
        except orjson.JSONDecodeError as error:
            raise Refusal(Code.BAD_JSON, f"a request is a JSON object: {error}"[:300]) from None
        if not isinstance(message, dict):
            found = type(message).__name__
            raise Refusal(Code.BAD_JSON, f"a request is a JSON object, this is {found}")
        if _depth(message, _DEEPEST) > _DEEPEST:
            raise Refusal(Code.BAD_JSON, f"a request is nested at most {_DEEPEST} levels deep")
        return message

    def _attached(self, request: Request | None, position: Position) -> Attached:
        """Looked up here, in one place, because all shards must see it alike: versions, keys."""
        if isinstance(request, Plugin):
            return Attached(fault=self._distrusted(request))
        if isinstance(request, _ABOUT_TOPICS):
            return self._looked_at(request)
        if not isinstance(request, _ABOUT_VERSIONS):
            return Attached()
        place = Place(self._engine, position)
        try:
            if self._versions is None:
                raise Refusal(Code.BAD_REQUEST, "this engine has no folder for snapshots")
            match request:
                case Restore() | RemoveSnapshot():
                    found = self._versions.find(request.uid, request.version, place)
                    return Attached(version=found, place=place)
                case Snapshot():
                    versions = self._versions.versions(request.uid, place)
                    return Attached(
                        version=next((v for v in versions if v.version == request.version), None),
                        versions=versions if request.keep is not None else [],
                        highest=max((v.highest for v in versions), default=0),
                        place=place,
                    )
                case Snapshots():
                    return Attached(versions=self._versions.versions(request.uid, place))
        except Refusal as refusal:
            return Attached(fault=refusal.fault)
        except OSError as error:
            reason = f"the snapshots cannot be read: {error}"[:300]
            return Attached(fault=Fault(Code.INTERNAL, reason))

    def _looked_at(self, request: Source | Preview | Sources) -> Attached:
        """Which topics there are, or what a source would make of its topic's records, as far as
        that is asked; a fault if it may not be read."""
        names = None
        if self._topics is not None and not isinstance(request, Preview):
            names = self._topics.names()
        if isinstance(request, Sources):
            return Attached(topics=names)
        try:
            if request.topic in self._own_topics:
                refuse("topic", request.topic, "a topic that the engine does not use itself")
            if isinstance(request, Source):
                return Attached(warnings=topic_warnings(request, names))
            if self._topics is None:
                raise Refusal(Code.BAD_REQUEST, "this engine cannot look into topics")
            seen = self._topics.last_messages(request)
            return Attached(preview=preview(seen, request, self.on_data))
        except Refusal as refusal:
            return Attached(fault=refusal.fault)


def _identity(checkpoint: str) -> str:
    """A name for files that others read: it does not tell the checkpoint's."""
    named = checkpoint not in ("", "-")
    return hashlib.sha256(checkpoint.encode()).hexdigest()[:32] if named else ""


def _id(message: Any) -> str:
    """The id that a request has given itself, if it has."""
    named = message.get("id") if isinstance(message, dict) else None
    return named if isinstance(named, str) else ""


def _id_of(payload: bytes) -> str:
    try:
        return _id(orjson.loads(payload)) if len(payload) <= _LARGEST_WITH_ID else ""
    except orjson.JSONDecodeError:
        return ""


def _each(messages: Messages) -> list[tuple[bytes, Position, int]]:
    """Payload, position and time of each message."""
    topic, partition = messages.topic, messages.partition
    return [
        (
            messages.buffer[start:end].tobytes(),
            Position(topic, partition, int(offset)),
            int(time),
        )
        for start, end, offset, time in zip(
            messages.starts, messages.ends, messages.offsets, messages.timestamps, strict=True
        )
    ]


def _depth(value: Any, most: int) -> int:
    """How many objects and arrays are inside each other; not followed further than `most`."""
    if not isinstance(value, dict | list) or most < 0:
        return 0
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max((_depth(one, most - 1) for one in inside), default=0)


def _translated(message: dict[str, Any], position: Position) -> Request | None:
    """What an INFORE request asks for, as far as that can be told without knowing what runs."""
    try:
        requests = translate(message, str(position), lambda uid: None)
    except Refusal:
        return None
    return requests[0] if requests else None
