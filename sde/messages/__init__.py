"""What travels on Kafka, as plain records. Imports nothing heavy: clients use it too."""

from sde.messages.faults import Code, Fault, Refusal
from sde.messages.fields import Fields
from sde.messages.native import OPS, decode_request
from sde.messages.replies import answer, dead_letter, refusal, unreadable, watch_answer
from sde.messages.requests import (
    DATASET_SCOPE,
    ON_CHANGE,
    ON_CLOSE,
    STREAM_SCOPE,
    Ask,
    Create,
    Definition,
    Delete,
    Describe,
    Export,
    Import,
    ListAll,
    Request,
    Restore,
    Snapshot,
    Snapshots,
    Unwatch,
    Watch,
)
from sde.messages.windows import Span, Window

__all__ = [
    "DATASET_SCOPE",
    "ON_CHANGE",
    "ON_CLOSE",
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
    "Import",
    "ListAll",
    "Refusal",
    "Request",
    "Restore",
    "Snapshot",
    "Snapshots",
    "Span",
    "Unwatch",
    "Watch",
    "Window",
    "answer",
    "dead_letter",
    "decode_request",
    "refusal",
    "unreadable",
    "watch_answer",
]
