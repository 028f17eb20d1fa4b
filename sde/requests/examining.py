"""What is done for plug-ins beside the query, once for all shards: examine them, keep a log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sde.limits import StateLimits
from sde.plugins.trust import Trust
from sde.records.loop import Admit, Admitted, Noted
from sde.wire import Code, Refusal

if TYPE_CHECKING:
    from sde.plugins.examination import Passed

log = logging.getLogger(__name__)  # service writes it to logs/plugins.log


def admit(message: Admit, trust: Trust, limits: StateLimits) -> Admitted:
    """Examine a plug-in that the trust allows to be run."""
    request = message.request
    try:
        passed = _examined(message, trust, limits)
    except Refusal as refusal:
        return Admitted(
            request=request.id, declaration={}, fault=refusal.fault, sha256=request.sha256
        )
    return Admitted(
        request=request.id,
        declaration=passed.declaration.as_json(),
        sha256=request.sha256,
        successions=passed.successions,
    )


def _examined(message: Admit, trust: Trust, limits: StateLimits) -> Passed:
    """Refusal if the source is not trusted, or breaks a law."""
    # Imported here: an engine starts a second earlier if its driver does not load numba for it.
    from sde.plugins.examination import NotPassed, examine

    request = message.request
    request.check()
    trust.require(request)
    examined = examine(request.name, request.source, limits.plugin_bytes, message.predecessor)
    if isinstance(examined, NotPassed):
        law = f"breaks the law {examined.law}" if examined.law else "cannot be loaded"
        raise Refusal(Code.BROKEN_LAW, f"{request.name} {law}: {examined.reason}", "source")
    return examined


def write(noted: Noted) -> None:
    """Write one line to the log of plug-ins."""
    log.warning("%s", line_of(noted))


def line_of(noted: Noted) -> str:
    r"""A note as text.

    >>> line_of(Noted(what="refused", plugin="total", version=None, key="c2Vj", reason="no\nlaw"))
    'refused kind=total version=- key=c2Vj: no law'
    """
    version = "-" if noted.version is None else noted.version
    about = f"{noted.what} kind={noted.plugin} version={version} key={noted.key or '-'}"
    reason = " ".join(noted.reason.split())
    return f"{about}: {reason}" if reason else about
