"""The console's files, read once when the gateway starts: no request names a path of the disk."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple

from starlette.responses import Response

from service.gateway.call import Call
from service.gateway.problems import NOT_FOUND, Problem

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_FIRST = "index.html"
# Nothing from elsewhere, nothing inline, and no text that a script could make into markup.
_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


class Page(NamedTuple):
    """A file as it is served."""

    body: bytes
    media_type: str
    etag: str


@functools.cache
def pages() -> Mapping[str, Page]:
    """All there are, by name."""
    found = {}
    for file in resources.files("service.console").iterdir():
        media_type = _TYPES.get(file.name.rpartition(".")[2])
        if media_type is not None:
            body = file.read_bytes()
            found[file.name] = Page(body, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
    return found


async def serve_page(call: Call) -> Response:
    """One of the files; 304 if the browser has it."""
    page = pages().get(call.path.get("file", _FIRST))
    if page is None:
        raise Problem(404, NOT_FOUND, "no such file; the console is at /")
    headers = {
        "ETag": page.etag,
        "Cache-Control": "no-cache",
        "Content-Security-Policy": _POLICY,
    }
    if page.etag in call.http.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(page.body, headers={**headers, "Content-Type": page.media_type})
