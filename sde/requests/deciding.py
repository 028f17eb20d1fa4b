"""Whether a watch answers: by its threshold and its condition, and what it answered last."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from sde.records.watching import Watching
from sde.wire import ON_CHANGE, Code, Refusal, Watch

_COMPARE = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, slots=True)
class Decision:
    number: int
    holds: bool | None = None
    remember: bool = False  # the shards must learn what was answered


def decide(watching: Watching, value: Any) -> Decision | None:
    """How a value is answered; None: not at all."""
    request, condition = watching.request, watching.request.condition
    if condition is not None:
        holds = _holds(condition, value)
        if holds == watching.holds or (watching.holds is None and not holds):
            return None
        return Decision(watching.number + 1, holds, remember=True)
    if request.occasion == ON_CHANGE:
        if watching.number and not _moved(request, watching.last, value):
            return None
        return Decision(watching.number + 1, remember=True)
    return Decision(watching.number)


def _holds(condition: tuple[str, float], value: Any) -> bool:
    sign, limit = condition
    if not isinstance(value, int | float | None):
        raise Refusal(
            Code.BAD_QUERY,
            f"when={sign + ' ' + str(limit)!r}: expected a question whose value is a number; name "
            "one in `query`",
            "when",
        )
    return value is not None and bool(_COMPARE[sign](value, limit))


def _moved(request: Watch, last: Any, value: Any) -> bool:
    """Whether a value is further from the last one than the threshold, or at all without one."""
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (last, value))
    if not numbers:
        return bool(last != value)
    least, relative = request.least_change
    return bool(abs(value - last) > least * (abs(last) if relative else 1))
