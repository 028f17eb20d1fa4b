"""Everything the client raises.

ClientError
├── BadInput              what was to be sent cannot be: a value, a table or a file
├── MissingExtra          a package that only tables, or plots, need is not installed
├── TransportError
│   ├── ClosedClient      the client was closed
│   ├── Unreachable       no broker, or not the topics of an engine
│   ├── DeliveryFailed    the broker did not take a message
│   └── AnswerTimeout     no answer in time; the request may still be carried out
└── Refused               the engine answered with a fault: `.code`, `.message`, `.field`
    ├── BadRequest        a field is missing, unknown or of the wrong type
    ├── UnknownKind
    ├── UnknownSynopsis
    ├── UnknownStream
    ├── UnknownVersion    no such snapshot
    ├── VersionExists     a snapshot of this name is kept already
    ├── UnknownWatch      no such watch, or it has ended
    ├── UnknownSource     no source has this name
    ├── UnknownSite       no site the engine knows
    ├── SynopsisExists    the uid is taken by another definition
    ├── BadParameter
    ├── BadState          the bytes are not a state of this synopsis
    ├── BadQuery
    ├── NotMergeable      the kind cannot serve this scope or question
    ├── Untrusted         this engine takes no plug-ins, or none of this author
    ├── BrokenLaw         the plug-in did not pass its examination
    ├── UnknownPlugin
    ├── PluginInUse       synopses are made of the plug-in
    ├── Quarantined       the synopsis is of a plug-in that misbehaved
    ├── AccessDenied      the gateway does not know the token, or it is not enough
    ├── LimitExceeded     a limit of the engine: synopses, bytes, streams, size of a message
    └── EngineFailed      the engine could not finish, through no fault of the request
"""

from __future__ import annotations

from typing import Any, Literal

from sde.wire import Code


class ClientError(Exception):
    pass


class BadInput(ClientError, ValueError):
    pass


class MissingExtra(ClientError, ImportError):
    def __init__(self, package: str, extra: Literal["tables", "plots"] = "tables") -> None:
        need = "tables and files need" if extra == "tables" else "plots need"
        super().__init__(
            f"{package} is not installed; {need} it: pip install 'synopses-data-engine[{extra}]'"
        )


class TransportError(ClientError):
    pass


class ClosedClient(TransportError):
    pass


class Unreachable(TransportError):
    pass


class DeliveryFailed(TransportError):
    pass


class AnswerTimeout(TransportError, TimeoutError):
    def __init__(self, message: str, request_id: str) -> None:
        super().__init__(message)
        self.request_id = request_id


class Refused(ClientError):
    def __init__(self, reply: dict[str, Any]) -> None:
        self.code = str(reply.get("code"))
        self.message = str(reply.get("message"))
        self.field = str(reply.get("field", ""))
        self.reply = reply
        self.hint = ""  # what was probably meant, if that can be guessed
        super().__init__(f"{self.code}: {self.message}")

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f". {self.hint}" if self.hint else "")


class BadRequest(Refused):
    pass


class UnknownKind(Refused):
    pass


class UnknownSynopsis(Refused):
    pass


class UnknownStream(Refused):
    pass


class UnknownVersion(Refused):
    pass


class VersionExists(Refused):
    pass


class UnknownWatch(Refused):
    pass


class UnknownSource(Refused):
    pass


class UnknownSite(Refused):
    pass


class SynopsisExists(Refused):
    pass


class BadParameter(Refused):
    pass


class BadState(Refused):
    pass


class BadQuery(Refused):
    pass


class NotMergeable(Refused):
    pass


class Untrusted(Refused):
    pass


class BrokenLaw(Refused):
    pass


class UnknownPlugin(Refused):
    pass


class PluginInUse(Refused):
    pass


class Quarantined(Refused):
    pass


class AccessDenied(Refused):
    pass


class LimitExceeded(Refused):
    pass


class EngineFailed(Refused):
    pass


_BY_CODE: dict[str, type[Refused]] = {
    Code.BAD_ENCODING: BadRequest,
    Code.BAD_JSON: BadRequest,
    Code.BAD_REQUEST: BadRequest,
    Code.UNKNOWN_OP: BadRequest,
    Code.UNKNOWN_KIND: UnknownKind,
    Code.UNKNOWN_SYNOPSIS: UnknownSynopsis,
    Code.UNKNOWN_STREAM: UnknownStream,
    Code.UNKNOWN_VERSION: UnknownVersion,
    Code.VERSION_EXISTS: VersionExists,
    Code.UNKNOWN_WATCH: UnknownWatch,
    Code.UNKNOWN_SOURCE: UnknownSource,
    Code.UNKNOWN_SITE: UnknownSite,
    Code.SYNOPSIS_EXISTS: SynopsisExists,
    Code.BAD_PARAMETER: BadParameter,
    Code.BAD_STATE: BadState,
    Code.BAD_QUERY: BadQuery,
    Code.NOT_MERGEABLE: NotMergeable,
    Code.UNTRUSTED: Untrusted,
    Code.BROKEN_LAW: BrokenLaw,
    Code.UNKNOWN_PLUGIN: UnknownPlugin,
    Code.IN_USE: PluginInUse,
    Code.QUARANTINED: Quarantined,
    Code.LIMIT_EXCEEDED: LimitExceeded,
    Code.TOO_LARGE: LimitExceeded,
    Code.INCOMPLETE: EngineFailed,
    Code.PASSED_OVER: EngineFailed,
    Code.INTERNAL: EngineFailed,
}
_BY_CODE_OF_GATEWAYS: dict[str, type[Refused]] = {
    "unauthorized": AccessDenied,
    "forbidden": AccessDenied,
}


def refused(reply: dict[str, Any]) -> Refused:
    """The error for a fault; an engine newer than this client may send codes unknown here."""
    code = str(reply.get("code"))
    return (_BY_CODE.get(code) or _BY_CODE_OF_GATEWAYS.get(code, Refused))(reply)
