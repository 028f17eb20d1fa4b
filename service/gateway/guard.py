"""Who may come in: hosts, tokens, cookies of browsers, rates."""

from __future__ import annotations

import math
import re
from urllib.parse import urlsplit

from starlette.requests import Request

from service.gateway.buckets import Buckets
from service.gateway.problems import FORBIDDEN, TOO_MANY, UNAUTHORIZED, Problem
from service.gateway.routes import Route
from service.gateway.tokens import ANYONE, Caller, Tokens
from service.http_settings import HttpSettings, is_loopback

COOKIE = "sde_session"
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/=-]+)", re.IGNORECASE)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)  # of every response that does not say otherwise


class Guard:
    """Lets a request in, or raises a Problem."""

    def __init__(self, http: HttpSettings) -> None:
        self._tokens = Tokens(http.tokens)
        self._buckets = Buckets(http.requests_per_second)

    def caller(self, request: Request) -> Caller | None:
        """Who sent it, if that is known and not asking too often; None: a token is missing."""
        token = bearer_token(request) or request.cookies.get(COOKIE, "")
        caller = self._tokens.caller(token) if token else None
        if not self._tokens.are_needed:
            caller = ANYONE
        wait = self._buckets.take(name_of(caller, request))
        if wait:
            retry = {"Retry-After": str(math.ceil(wait))}
            raise Problem(429, TOO_MANY, "too many requests in a second", headers=retry)
        return caller

    def admit(self, request: Request, route: Route, caller: Caller | None) -> None:
        """Problem if a request is not for this caller, or comes from a page of somebody else."""
        self._check_origin(request)
        if route.scope is None:
            return
        if caller is None:
            # What was sent in its place is told nobody.
            detail = "expected a header `Authorization: Bearer TOKEN` with a token that is known"
            raise Problem(401, UNAUTHORIZED, detail, headers={"WWW-Authenticate": "Bearer"})
        if route.handler != "session" and not caller.may(route.scope):
            raise Problem(403, FORBIDDEN, f"this token does not have the scope {route.scope!r}")

    def _check_origin(self, request: Request) -> None:
        """A page of another site must not change anything, nor ask where nobody needs a token."""
        host = request.headers.get("host", "")
        if not self._tokens.are_needed and not is_loopback(host):
            # A name that its owner lets point to this machine, so that a page may ask it.
            raise Problem(403, FORBIDDEN, "expected a loopback address in the header `Host`")
        if request.method in SAFE_METHODS:
            return
        origin = request.headers.get("origin")
        if origin is None and (bearer_token(request) or not request.cookies.get(COOKIE)):
            return  # no browser
        if urlsplit(origin or "").netloc != host:
            raise Problem(403, FORBIDDEN, "expected a request of a page of this server (`Origin`)")


def name_of(caller: Caller | None, request: Request) -> str:
    """What tells callers apart: their token, or where they are."""
    client = request.client.host if request.client else ""
    return f"token {caller.name}" if caller is not None and caller.name else f"from {client}"


def bearer_token(request: Request) -> str:
    """The token of `Authorization`, "" if there is none."""
    found = _BEARER.fullmatch(request.headers.get("authorization", ""))
    return found[1] if found is not None else ""


def session_cookie(token: str, secure: bool, seconds: int) -> str:
    """The value of Set-Cookie; with 0 seconds it is forgotten."""
    parts = [f"{COOKIE}={token}", "Path=/v1", f"Max-Age={seconds}", "HttpOnly", "SameSite=Strict"]
    return "; ".join([*parts, "Secure"] if secure else parts)
