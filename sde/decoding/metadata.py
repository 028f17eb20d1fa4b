"""What a message says beside its record, as columns: `$key`, `$headers.NAME`, `$timestamp`, ..."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sde.decoding.headers import header_values
from sde.decoding.messages import Messages
from sde.tuples.column import Coded, Column
from synopses.texts import Texts

KEY, HEADERS = "$key", "$headers."
NAMES = (KEY, HEADERS + "NAME", "$timestamp", "$topic", "$partition", "$offset")


def is_metadata(path: str) -> bool:
    """Whether a path that begins with `$` is one that messages have."""
    return path in NAMES or (path.startswith(HEADERS) and len(path) > len(HEADERS))


def metadata(
    named: Iterable[str], messages: Messages, message_of: NDArray[np.int64]
) -> dict[str, Column]:
    """A column for each path that begins with `$`; row i is of message message_of[i]."""
    return {path: _column(path, messages, message_of) for path in named if path.startswith("$")}


def _column(path: str, messages: Messages, message_of: NDArray[np.int64]) -> Column:
    rows = len(message_of)
    match path:
        case "$timestamp":
            return Column(messages.timestamps.take(message_of))
        case "$offset":
            return Column(messages.offsets.take(message_of))
        case "$partition":
            return Column(np.full(rows, messages.partition, np.int64))
        case "$topic":
            topic = messages.topic.rpartition("/")[2]
            return Column(Coded(Texts.of([topic]), np.zeros(rows, np.int32)))
    if path == KEY and messages.keys is not None:
        return messages.keys.texts().take(message_of)
    if path.startswith(HEADERS) and messages.headers is not None:
        name = path.removeprefix(HEADERS)
        return header_values(messages.headers, name).texts().take(message_of)
    return Column.missing(rows)
