"""Which messages are read at all: those that are neither empty nor too large."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.wire.faults import Code, Fault


def sizes_checked(messages: Messages, limits: Limits, letters: Letters) -> NDArray[np.int64]:
    """The indexes of those messages; the others that are not empty become dead letters."""
    sizes = messages.ends - messages.starts
    for i in np.flatnonzero(sizes > limits.max_message_bytes).tolist():
        text = f"a message of {sizes[i]:,} bytes: expected at most {limits.max_message_bytes:,}"
        letters.refuse(i, 0, Fault(Code.TOO_LARGE, text), messages.payload(i))
    return np.flatnonzero((sizes > 0) & (sizes <= limits.max_message_bytes))
