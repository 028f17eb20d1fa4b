"""Faults: what was wrong, said so that the sender can mend it. The list of codes is closed."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class Code(enum.StrEnum):
    BAD_ENCODING = "bad_encoding"  # not UTF-8
    BAD_JSON = "bad_json"  # not a JSON object
    BAD_FRAME = "bad_frame"  # an Arrow frame that cannot be read
    BAD_RECORD = "bad_record"  # a CSV, Avro or Protobuf record that cannot be read
    BAD_SCHEMA = "bad_schema"  # the schema of a record cannot be used
    UNKNOWN_SCHEMA = "unknown_schema"  # the registry has no schema of this number
    BAD_TUPLE = "bad_tuple"  # a data tuple without data set, stream or values
    BAD_REQUEST = "bad_request"  # a field of a request is missing or of the wrong type
    TOO_LARGE = "too_large"  # a message, a tuple or a reply beyond a limit
    UNKNOWN_OP = "unknown_op"  # no request has this `op`
    UNKNOWN_KIND = "unknown_kind"  # neither a kind of the library nor of a plug-in
    UNKNOWN_SYNOPSIS = "unknown_synopsis"  # no synopsis has this uid
    UNKNOWN_STREAM = "unknown_stream"  # no tuple of this stream has come yet
    SYNOPSIS_EXISTS = "synopsis_exists"  # the uid is taken by another definition
    BAD_PARAMETER = "bad_parameter"  # a parameter of a kind, or `where`, is not what it must be
    BAD_STATE = "bad_state"  # bytes that are not the state of this synopsis
    UNKNOWN_VERSION = "unknown_version"  # no such snapshot
    VERSION_EXISTS = "version_exists"  # a snapshot of this name is kept already
    UNKNOWN_SOURCE = "unknown_source"  # no source has this name
    UNKNOWN_WATCH = "unknown_watch"  # no such watch, or it has ended
    UNKNOWN_SITE = "unknown_site"  # not this site and none of its peers
    BAD_QUERY = "bad_query"  # a question the kind does not know, or a wrong argument
    NOT_MERGEABLE = "not_mergeable"  # the kind cannot serve this scope or question
    LIMIT_EXCEEDED = "limit_exceeded"  # a limit of the settings would be passed
    OFFSETS_LOST = "offsets_lost"  # the broker deleted messages before they were read
    UNTRUSTED = "untrusted"  # a plug-in, or a message to itself, that the engine does not believe
    BROKEN_LAW = "broken_law"  # a plug-in that did not pass its examination
    UNKNOWN_PLUGIN = "unknown_plugin"  # no plug-in has this name, or this version
    IN_USE = "in_use"  # a plug-in that synopses are made of
    QUARANTINED = "quarantined"  # the synopsis is of a plug-in that misbehaved
    INCOMPLETE = "incomplete"  # not every shard, or site, answered
    PASSED_OVER = "passed_over"  # the process that handled the message died, each time
    INTERNAL = "internal"  # a defect of the engine: please report it


@dataclass(frozen=True, slots=True)
class Fault:
    """Why something was refused; `field` names the part of the message that was wrong."""

    code: Code
    message: str
    field: str = ""

    @classmethod
    def from_record(cls, held: dict[str, Any]) -> Fault:
        """The fault whose fields JSON kept."""
        return cls(Code(held["code"]), held["message"], held["field"])

    def as_json(self) -> dict[str, Any]:
        named = {"field": self.field} if self.field else {}
        return {"status": "error", "code": str(self.code), "message": self.message, **named}


class Refusal(Exception):
    """Raised inside a stage to leave with a fault; never leaves the stage."""

    def __init__(self, code: Code, message: str, field: str = "") -> None:
        super().__init__(code, message, field)
        self.fault = Fault(code, message, field)

    @classmethod
    def of(cls, fault: Fault) -> Refusal:
        """To leave with a fault that was found before."""
        return cls(fault.code, fault.message, fault.field)
