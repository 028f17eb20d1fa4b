"""Admission: whether a plug-in may be used, decided once for all shards and written to a log."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from sde.limits import StateLimits
from sde.plugins.examination import examine
from sde.plugins.trust import Trust
from sde.wire import Code, Plugin, Refusal, decode_request
from sde.wire.loop import Admit, Admitted

log = logging.getLogger(__name__)


def admit(message: Admit, trust: Trust, limits: StateLimits) -> Admitted:
    """Examine a plug-in that the trust allows to be run."""
    name = str(message.request.get("name"))[:80]
    named = f"{name} sha256={str(message.request.get('sha256'))[:64]}"
    request_id = str(message.request.get("id"))
    try:
        declaration = _declaration(message.request, trust, limits)
    except Refusal as refusal:
        log.warning("plug-in %s refused: %s", named, refusal.fault.message)
        return Admitted(request_id, {}, asdict(refusal.fault))
    log.warning("plug-in %s admitted, key=%s", named, message.request.get("key"))
    return Admitted(request_id, declaration)


def _declaration(message: dict[str, Any], trust: Trust, limits: StateLimits) -> dict[str, Any]:
    request = decode_request(message, "")
    if not isinstance(request, Plugin):
        raise Refusal(Code.BAD_REQUEST, "op: expected plugin", "op")
    trust.require(request)
    examined = examine(request.name, request.source, limits.plugin_bytes)
    if not examined.passed:
        law = f"breaks the law {examined.law}" if examined.law else "cannot be loaded"
        raise Refusal(Code.BROKEN_LAW, f"{request.name} {law}: {examined.reason}", "source")
    return examined.declaration
