"""Tokens: who comes in, and what they may do. Only digests of tokens are known here."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from service.http_settings import SCOPES, HttpToken, Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request. Without tokens in the settings everybody is `ANYONE`."""

    name: str
    scopes: frozenset[str]
    datasets: tuple[str, ...] = ()  # patterns; none: all
    end: float | None = None  # seconds since the epoch

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    def sees(self, dataset: str) -> bool:
        return not self.datasets or any(fnmatchcase(dataset, one) for one in self.datasets)

    @property
    def has_expired(self) -> bool:
        return self.end is not None and time.time() >= self.end


ANYONE = Caller("", frozenset(SCOPES))


class Tokens:
    """The tokens of the settings."""

    def __init__(self, tokens: Mapping[str, HttpToken]) -> None:
        self._callers = [
            (token.sha256, Caller(name, frozenset(token.scopes), token.datasets, token.end))
            for name, token in tokens.items()
        ]

    @property
    def are_needed(self) -> bool:
        return bool(self._callers)

    def caller(self, token: str) -> Caller | None:
        """Whose token it is; all are compared, so that the time it takes tells nothing."""
        mine = digest_of(token)
        found = [caller for digest, caller in self._callers if hmac.compare_digest(digest, mine)]
        return next((caller for caller in found if not caller.has_expired), None)


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def new_token() -> str:
    """A token that nobody can guess: 256 bits."""
    return f"sde_{secrets.token_urlsafe(32)}"


def table_of(name: str, token: str, scopes: str, datasets: str, expires: str) -> str:
    """The table of the settings for a new token, to be pasted into the file.

    >>> print(table_of("ui", "secret", "read", "", ""))
    [http.tokens.ui]
    sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
    scopes = ["read"]
    """
    lines = [f"[http.tokens.{name}]", f'sha256 = "{digest_of(token)}"', f"scopes = {_list(scopes)}"]
    if datasets:
        lines.append(f"datasets = {_list(datasets)}")
    if expires:
        lines.append(f'expires = "{expires}"')
    return "\n".join(lines)


def _list(words: str) -> str:
    return "[" + ", ".join(f'"{word.strip()}"' for word in words.split(",")) + "]"
