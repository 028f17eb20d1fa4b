"""Whether a plug-in may be used: examined once for all shards, and written to a log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sde.limits import StateLimits
from sde.plugins.trust import Trust
from sde.records.loop import Admit, Admitted
from sde.wire import Code, Plugin, Refusal

if TYPE_CHECKING:
    from sde.plugins.declaration import Declaration

log = logging.getLogger(__name__)


def admit(message: Admit, trust: Trust, limits: StateLimits) -> Admitted:
    """Examine a plug-in that the trust allows to be run."""
    request = message.request
    named = f"{request.name} sha256={request.sha256}"
    try:
        declaration = _declaration(request, trust, limits)
    except Refusal as refusal:
        log.warning("plug-in %s refused: %s", named, refusal.fault.message)
        return Admitted(
            request=request.id, declaration={}, fault=refusal.fault, sha256=request.sha256
        )
    log.warning("plug-in %s admitted, key=%s", named, request.key)
    return Admitted(request=request.id, declaration=declaration.as_json(), sha256=request.sha256)


def _declaration(request: Plugin, trust: Trust, limits: StateLimits) -> Declaration:
    """Refusal if the source is not trusted, or breaks a law."""
    # Imported here: an engine starts a second earlier if its driver does not load numba for it.
    from sde.plugins.examination import NotPassed, examine

    request.check()
    trust.require(request)
    examined = examine(request.name, request.source, limits.plugin_bytes)
    if isinstance(examined, NotPassed):
        law = f"breaks the law {examined.law}" if examined.law else "cannot be loaded"
        raise Refusal(Code.BROKEN_LAW, f"{request.name} {law}: {examined.reason}", "source")
    return examined.declaration
