"""The client of the Synopses Data Engine: `Client`, its transports, and the errors it raises."""

from clients.answers import Answer, Description
from clients.client import Client
from clients.errors import (
    AnswerTimeout,
    BadInput,
    BadParameter,
    BadQuery,
    BadRequest,
    ClientError,
    DeliveryFailed,
    EngineFailed,
    LimitExceeded,
    MissingExtra,
    NotMergeable,
    Refused,
    SynopsisExists,
    TransportError,
    UnknownKind,
    UnknownStream,
    UnknownSynopsis,
    Unreachable,
)
from clients.handle import SynopsisHandle
from clients.kafka import KafkaTransport
from clients.memory import InMemoryTransport
from clients.pending import Pending
from clients.transport import Topics, Transport

__all__ = [
    "Answer",
    "AnswerTimeout",
    "BadInput",
    "BadParameter",
    "BadQuery",
    "BadRequest",
    "Client",
    "ClientError",
    "DeliveryFailed",
    "Description",
    "EngineFailed",
    "InMemoryTransport",
    "KafkaTransport",
    "LimitExceeded",
    "MissingExtra",
    "NotMergeable",
    "Pending",
    "Refused",
    "SynopsisExists",
    "SynopsisHandle",
    "Topics",
    "Transport",
    "TransportError",
    "UnknownKind",
    "UnknownStream",
    "UnknownSynopsis",
    "Unreachable",
]
