"""The client of the Synopses Data Engine: `Client`, its transports, and the errors it raises."""

from clients.answers import Answer
from clients.async_client import AsyncClient, AsyncSynopsisHandle
from clients.async_watch import AsyncWatch, Opening
from clients.client import Client
from clients.descriptions import Description, SiteInfo, SnapshotInfo, StreamInfo, WatchInfo
from clients.errors import (
    AccessDenied,
    AnswerTimeout,
    BadInput,
    BadParameter,
    BadQuery,
    BadRequest,
    BadState,
    BrokenLaw,
    ClientError,
    ClosedClient,
    DeliveryFailed,
    EngineFailed,
    LimitExceeded,
    MissingExtra,
    NotMergeable,
    PluginInUse,
    Quarantined,
    Refused,
    SynopsisExists,
    TransportError,
    UnknownKind,
    UnknownPlugin,
    UnknownSite,
    UnknownSource,
    UnknownStream,
    UnknownSynopsis,
    UnknownVersion,
    UnknownWatch,
    Unreachable,
    Untrusted,
    VersionExists,
)
from clients.handle import HasUid, SynopsisHandle
from clients.http.transport import HttpTransport
from clients.kafka import KafkaTransport
from clients.kinds import Kind
from clients.memory import InMemoryTransport
from clients.pending import Pending
from clients.plugins import PluginInfo
from clients.records import Record, Records
from clients.source_requests import SourceInfo, SourceMapping, SourcePreview
from clients.times import Interval
from clients.transport import Topics, Transport
from clients.watch import Watch

__all__ = [
    "AccessDenied",
    "Answer",
    "AnswerTimeout",
    "AsyncClient",
    "AsyncSynopsisHandle",
    "AsyncWatch",
    "BadInput",
    "BadParameter",
    "BadQuery",
    "BadRequest",
    "BadState",
    "BrokenLaw",
    "Client",
    "ClientError",
    "ClosedClient",
    "DeliveryFailed",
    "Description",
    "EngineFailed",
    "HasUid",
    "HttpTransport",
    "InMemoryTransport",
    "Interval",
    "KafkaTransport",
    "Kind",
    "LimitExceeded",
    "MissingExtra",
    "NotMergeable",
    "Opening",
    "Pending",
    "PluginInUse",
    "PluginInfo",
    "Quarantined",
    "Record",
    "Records",
    "Refused",
    "SiteInfo",
    "SnapshotInfo",
    "SourceInfo",
    "SourceMapping",
    "SourcePreview",
    "StreamInfo",
    "SynopsisExists",
    "SynopsisHandle",
    "Topics",
    "Transport",
    "TransportError",
    "UnknownKind",
    "UnknownPlugin",
    "UnknownSite",
    "UnknownSource",
    "UnknownStream",
    "UnknownSynopsis",
    "UnknownVersion",
    "UnknownWatch",
    "Unreachable",
    "Untrusted",
    "VersionExists",
    "Watch",
    "WatchInfo",
]
