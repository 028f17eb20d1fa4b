"""Records as version 0.1.0 left them in checkpoints: logs of format 2, and facts.

There a record was a JSON object whose kind was told by the keys it had. Everything it says has a
place in the records of today; what is written is always of today.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sde.plugins.version import Made
from sde.records.arrived import Arrived, FromSite, Told
from sde.records.asked import AnyAsked, Asked, AskedInfore, Attached, Unreadable
from sde.records.loop import Loop
from sde.records.position import Position
from sde.records.result import Done, Outcome, Refused, Waits
from sde.records.sites import (
    Asking,
    Contributing,
    OwnNote,
    Role,
    SiteContribution,
    SiteMessage,
    SiteNote,
    Stray,
)
from sde.records.versions import VersionInfo
from sde.records.watching import Standing, Watching
from sde.wire import Fault, SynopsisInfo, Watch, decode_request

Old = Mapping[str, Any]


def arrived_of(record: Old) -> Arrived:
    """What an entry of a log says that arrived."""
    federated = record.get("federated")
    if not record.get("loop"):
        return asked_of(record)
    position, time = Position.parse(record["place"]), record["time"]
    if federated is not None:
        return FromSite(position=position, time=time, message=_site_message(federated))
    message: Loop = msgspec.convert(record["message"], Loop)
    return Told(position=position, time=time, message=message)


def asked_of(record: Old) -> AnyAsked:
    """A request, from a log, from one that waits for other sites, or for its examination."""
    position, time = Position.parse(record["place"]), record["time"]
    message, infore = record.get("message"), record.get("infore")
    if record.get("fault") is not None or message is None:
        fault = msgspec.convert(record["fault"], Fault)
        return Unreadable(position=position, time=time, fault=fault, infore=infore)
    attached = _attached(record.get("attached") or {})
    if "requestID" in message:
        return AskedInfore(position=position, time=time, message=message, attached=attached)
    return Asked(
        position=position,
        time=time,
        request=decode_request(message, record["place"]),
        at=record.get("at"),
        attached=attached,
        role=_role(record.get("federated") or {}),
        infore=infore,
    )


def _attached(old: Old) -> Attached:
    version = msgspec.convert(old, VersionInfo) if "definition" in old else None
    standing = old.get("standing")
    fault = old.get("fault")
    return Attached(
        version=version,
        parts=old.get("parts", ""),
        highest=old.get("highest", 0),
        standing=None if standing is None else msgspec.convert(standing, Standing),
        sizes=[(kind, msgspec.convert(made, Made)) for kind, made in old.get("sizes", ())],
        fault=None if fault is None else msgspec.convert(fault, Fault),
    )


def _role(federated: Old) -> Role | None:
    if "asked" in federated:
        return msgspec.convert({**federated["asked"], "type": "asking"}, Asking)
    if "wanted" in federated:
        return msgspec.convert({**federated["wanted"], "type": "contributing"}, Contributing)
    return None


def _site_message(federated: Old) -> SiteMessage:
    if "contribution" in federated:
        return contribution_of(federated["contribution"])
    if "told" in federated:
        return msgspec.convert({**federated["told"], "type": "note"}, SiteNote)
    if "own" in federated:
        return msgspec.convert({**federated["own"], "type": "own"}, OwnNote)
    return Stray(federated["stray"])


def contribution_of(record: Old) -> SiteContribution:
    """Also as it is written today: its tag may be there or not."""
    return msgspec.convert({**record, "type": "contribution"}, SiteContribution)


def outcome_of(text: str) -> Outcome:
    """What became of a request that came before."""
    record = msgspec.json.decode(text)
    if "ok" in record:
        done = record["ok"]
        info = msgspec.convert(done, SynopsisInfo) if "dataset" in done else None
        named = {name: done[name] for name in ("uid", "watch", "value") if name in done}
        return Done(info=info, **named)
    if "fault" in record and "type" not in record:
        return Refused(msgspec.convert(record["fault"], Fault))
    if record.get("waits") is True:
        return Waits()
    outcome: Outcome = msgspec.convert(record, Outcome)
    return outcome


def watching_of(record: Old) -> Watching:
    """A watch among the facts of the registry; also as it is written today."""
    request = decode_request(record["message"], record["id"])
    assert isinstance(request, Watch)
    rest = {name: value for name, value in record.items() if name not in ("message", "place")}
    standing = rest.pop("standing", None)
    return Watching(
        request=request,
        standing=None if standing is None else msgspec.convert(standing, Standing),
        **rest,
    )


def waiting_of(record: Old) -> AnyAsked:
    """A request that waits, among the facts; also as it is written today."""
    if "position" in record:
        asked: AnyAsked = msgspec.convert(record, AnyAsked)
        return asked
    return asked_of(record)
