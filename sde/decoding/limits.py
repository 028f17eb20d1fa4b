"""How large the parts of a message may be; beyond, they are refused."""

from __future__ import annotations

from dataclasses import dataclass

from sde.wire.fields import LONGEST_NAME


@dataclass(frozen=True, slots=True)
class Limits:
    max_message_bytes: int = 16 << 20
    max_tuple_bytes: int = 1 << 20
    max_fields: int = 1000  # of one tuple
    max_name: int = LONGEST_NAME  # characters of a data set, stream or field name
    max_letters: int = 1000  # for the lines of one message; the rest is told in one more
