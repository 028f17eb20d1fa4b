"""The one boundary where what is raised becomes a fault that the sender gets.

A stage never lets an exception of one request pass: it would stop every other. Three things do
pass, and are named where they are caught: a full or broken disk (the batch must not count as
done), windows that differ between shards (the question is asked again), and what ends a process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from sde.plugins.failure import PluginFailure
from sde.wire import Code, Fault, Refusal
from synopses import QueryError

_log = logging.getLogger(__name__)

Quarantine = Callable[[PluginFailure], Fault]


def fault_of(error: Exception, doing: object, quarantine: Quarantine) -> Fault:
    """What the sender is told of an error that came up while `doing` something.

    `quarantine` is told of a plug-in that misbehaves, and says what its users are told.
    """
    match error:
        case Refusal():
            return error.fault
        case QueryError():
            return Fault(Code.BAD_QUERY, str(error), error.name)
        case PluginFailure():
            return quarantine(error)
        case _:
            _log.exception("not done: %r", doing, exc_info=error)
            reason = f"{type(error).__name__}: {str(error)[:300]}; please report it"
            return Fault(Code.INTERNAL, reason)
