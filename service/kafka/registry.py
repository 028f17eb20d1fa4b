"""A schema registry with Confluent's API: schemas by number, asked once and kept.

    GET /schemas/ids/{number}                     the schema, its form, what it refers to
    GET /subjects/{subject}/versions/{version}    a schema that another refers to

A number never gets another schema, so what was found is kept, up to a bound. That there is none
is an answer, too (`UnknownSchema`: the messages are refused). That the registry does not answer,
or not as one does, is none: `RegistryAway` and `RegistryRefused` are for the caller, who waits.
"""

from __future__ import annotations

import functools
import ssl
import time
from collections import OrderedDict
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

import msgspec

from sde.decoding.schemas import Schema, UnknownSchema
from service.kafka.errors import RegistryAway, RegistryRefused
from service.kafka.registry_settings import RegistrySettings

_MOST_BYTES = 4 << 20  # of an answer
_MOST_KEPT = 1000  # schemas
_MOST_REFERENCES = 100  # of one schema, and of those that it refers to
_UNKNOWN_SECONDS = 60.0  # that "there is none" is believed: a replica may be behind
_NOT_FOUND = (40401, 40402, 40403)  # subject, version, schema
_TRIES, _FIRST_PAUSE = 4, 0.25  # seconds; then twice as long each time
_TEMPORARY = (408, 425, 429)
_PIECE = 1 << 16


class _Reference(msgspec.Struct, frozen=True):
    name: str
    subject: str
    version: int


class _Found(msgspec.Struct, frozen=True, rename="camel"):
    """An answer that has a schema; one without a type is of Avro."""

    schema: str
    schema_type: str = "AVRO"
    references: list[_Reference] = []


class _Error(msgspec.Struct, frozen=True):
    error_code: int = 0
    message: str = ""


class SchemaRegistry:
    """Call it with a number for the schema: what readers of `sde.decoding` take for `schemas`."""

    def __init__(
        self, settings: RegistrySettings, pause: Callable[[float], object] = time.sleep
    ) -> None:
        self._settings, self._pause = settings, pause
        self._opener = _opener(settings)
        self._kept: OrderedDict[int, Schema] = OrderedDict()
        self._unknown: OrderedDict[int, tuple[float, str]] = OrderedDict()  # until when, why

    def __call__(self, number: int) -> Schema:
        """UnknownSchema if there is none; RegistryAway or RegistryRefused if nobody can tell."""
        if (schema := self._kept.get(number)) is not None:
            return schema
        until, reason = self._unknown.get(number, (0.0, ""))
        if time.monotonic() < until:
            raise UnknownSchema(reason)
        try:
            schema = self._schema(number)
        except UnknownSchema as error:
            _keep(self._unknown, number, (time.monotonic() + _UNKNOWN_SECONDS, str(error)))
            raise
        _keep(self._kept, number, schema)
        return schema

    def _schema(self, number: int) -> Schema:
        found = self._ask(f"/schemas/ids/{number}")
        references: dict[str, str] = {}
        self._refer(found, references, ())
        return Schema(found.schema_type, found.schema, tuple(references.items()))

    def _refer(self, found: _Found, references: dict[str, str], inside: tuple[str, ...]) -> None:
        """Texts of what it refers to, by name; those that others of them use come first."""
        for reference in found.references:
            if reference.name in references or reference.name in inside:
                continue
            if len(references) + len(inside) == _MOST_REFERENCES:
                text = f"it refers to more than {_MOST_REFERENCES} others"
                raise UnknownSchema(text)
            subject = quote(reference.subject, safe="")
            other = self._ask(f"/subjects/{subject}/versions/{reference.version}")
            self._refer(other, references, (*inside, reference.name))
            references[reference.name] = other.schema

    def _ask(self, path: str) -> _Found:
        status, body = self._answer(path)
        try:
            if status == 200:
                return msgspec.json.decode(body, type=_Found)
            error = msgspec.json.decode(body, type=_Error)
        except msgspec.DecodeError:
            error = _Error()
        if status == 404 and error.error_code in _NOT_FOUND:
            raise UnknownSchema(f"the registry has none ({error.message[:200]})")
        text = error.message[:200] or "not what a schema registry answers"
        raise RegistryRefused(self._settings.url, path, status, text)

    def _answer(self, path: str) -> tuple[int, bytes]:
        """Status and body; tried again for as long as that may help."""
        reason = ""
        for i in range(_TRIES):
            if i:
                self._pause(_FIRST_PAUSE * 2 ** (i - 1))
            try:
                status, body = self._once(path)
            except (HTTPException, URLError, OSError) as error:
                reason = str(getattr(error, "reason", "") or error or type(error).__name__)
                continue
            if status < 500 and status not in _TEMPORARY:
                return status, body
            reason = f"it answered with status {status}"
        raise RegistryAway(self._settings.url, reason)

    def _once(self, path: str) -> tuple[int, bytes]:
        settings = self._settings
        accepted = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        headers = {**accepted, **settings.authorization()}
        request = Request(settings.url.rstrip("/") + path, headers=headers)
        try:
            with self._opener.open(request, timeout=settings.timeout_seconds) as response:
                return response.status, _body(response, settings.timeout_seconds)
        except HTTPError as error:
            with error:
                return error.code, _body(error, settings.timeout_seconds)


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would carry the credentials to whom it names."""

    def redirect_request(self, *args: Any) -> None:
        return None


def _opener(settings: RegistrySettings) -> OpenerDirector:
    context = ssl.create_default_context(cafile=settings.ca_file or None)
    return build_opener(_NoRedirects, HTTPSHandler(context=context))


def _body(response: HTTPResponse | HTTPError, seconds: float) -> bytes:
    """The whole of it, if it is neither too large nor comes byte by byte for ever."""
    until, pieces, size = time.monotonic() + seconds, [], 0
    while piece := response.read1(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > _MOST_BYTES:
            raise HTTPException(f"an answer of more than {_MOST_BYTES:,} bytes")
        if time.monotonic() > until:
            raise TimeoutError("the answer does not end")
    return b"".join(pieces)


@functools.cache
def registry_of(settings: str) -> SchemaRegistry:
    """One for a process; `settings` are RegistrySettings as JSON."""
    return SchemaRegistry(msgspec.json.decode(settings, type=RegistrySettings))


def _keep(kept: OrderedDict[int, Any], number: int, value: object) -> None:
    """The oldest goes if there are too many."""
    kept[number] = value
    if len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
