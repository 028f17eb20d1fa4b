"""Where a gateway is, and how to get there: URL, token, certificates that are trusted."""

from __future__ import annotations

import http.client
import os
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from clients.errors import BadInput

SCHEMES = ("http://", "https://")


class HttpAddress:
    """Makes connections to one gateway. The token is in no text that this class makes."""

    def __init__(
        self, url: str, token: str | None = None, ca_file: str | os.PathLike[str] | None = None
    ) -> None:
        parts = urlsplit(url)
        if parts.username is not None or parts.password is not None or "@" in parts.netloc:
            raise BadInput("the URL of a gateway: expected none with a user; say token=... instead")
        try:
            port = parts.port
        except ValueError:
            port = 0
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise BadInput(f"{url!r}: expected a URL such as http://127.0.0.1:8088")
        if parts.query or parts.fragment:
            raise BadInput("the URL of a gateway: expected it without query and fragment")
        if ca_file is not None and parts.scheme != "https":
            raise BadInput(f"ca_file={os.fspath(ca_file)!r}: expected with https:// only")
        if token is not None and not _is_token(token):
            raise BadInput("token: expected what 'sde gateway token' prints: letters and digits")
        self.prefix = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}{self.prefix}"
        self._host, self._port = parts.hostname, port
        self._tls = _tls(ca_file) if parts.scheme == "https" else None
        self._authorization = {} if token is None else {"Authorization": f"Bearer {token}"}

    @property
    def headers(self) -> Mapping[str, str]:
        """What every call has."""
        return {"User-Agent": "sde-client", **self._authorization}

    def connection(self, seconds: float) -> http.client.HTTPConnection:
        """One that is not connected yet; each of its steps may take so many seconds."""
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=seconds)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=seconds, context=self._tls
        )

    def __repr__(self) -> str:
        return self.url


def _is_token(token: object) -> bool:
    return isinstance(token, str) and token.isascii() and token.isprintable() and " " not in token


def _tls(ca_file: str | os.PathLike[str] | None) -> ssl.SSLContext:
    """Checks certificates and names: by the system's authorities, or those in the file alone."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        name = "the system's certificates" if ca_file is None else f"ca_file={os.fspath(ca_file)!r}"
        raise BadInput(f"{name}: expected certificates in PEM: {error}") from error
