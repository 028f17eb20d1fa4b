"""How large the parts of a message may be; beyond, they are refused."""

from __future__ import annotations

from dataclasses import dataclass

from sde.wire.forms import LONGEST_NAME


@dataclass(frozen=True, slots=True)
class Limits:
    """The same for all data sets; ingest makes one."""

    max_message_bytes: int = 16 << 20
    max_tuple_bytes: int = 1 << 20
    max_fields: int = 1000  # of one tuple
    max_name: int = LONGEST_NAME  # characters of a data set, stream or field name
    max_letters: int = 1000  # for the lines of one message; the rest share one more
