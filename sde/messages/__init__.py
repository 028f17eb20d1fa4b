"""What travels on Kafka, as plain records. Imports nothing heavy: clients use it too."""

from sde.messages.faults import Code, Fault, Refusal
from sde.messages.fields import Fields
from sde.messages.replies import answer, dead_letter, refusal, unreadable
from sde.messages.requests import (
    DATASET_SCOPE,
    OPS,
    STREAM_SCOPE,
    Ask,
    Create,
    Definition,
    Delete,
    Describe,
    Export,
    ListAll,
    Request,
    decode_request,
    op_of,
)

__all__ = [
    "DATASET_SCOPE",
    "OPS",
    "STREAM_SCOPE",
    "Ask",
    "Code",
    "Create",
    "Definition",
    "Delete",
    "Describe",
    "Export",
    "Fault",
    "Fields",
    "ListAll",
    "Refusal",
    "Request",
    "answer",
    "dead_letter",
    "decode_request",
    "op_of",
    "refusal",
    "unreadable",
]
