"""Who wrote sees what they wrote: positions that replies have, and questions give back.

A reply to a change, or to tuples, may have a position: an opaque text. A question that names it is
answered by a state that has what was written there. The names of the headers are said here only.
"""

from __future__ import annotations

import threading
from email.message import Message

POSITION, AT_LEAST = "Sde-Position", "Sde-At-Least"
_MOST = 32  # as many calls at the same time as there can be, and more
_LONGEST = 4 << 10  # bytes: a longer one is no position of ours


class Positions:
    """The positions a client has to name. May be used by several threads.

    Every call names those that are known, and the position of its reply stands for these, too:
    they are forgotten then. Several remain only where calls went on at the same time.
    """

    def __init__(self) -> None:
        self._known: tuple[str, ...] = ()
        self._lock = threading.Lock()

    @property
    def known(self) -> tuple[str, ...]:
        """To be kept until the reply comes, and handed to `note` with it."""
        return self._known

    def headers(self, known: tuple[str, ...]) -> dict[str, str]:
        return {AT_LEAST: ",".join(known)} if known else {}

    def note(self, reply: Message, named: tuple[str, ...]) -> None:
        """The headers of a reply to a call that named these positions."""
        position = reply.get(POSITION)
        if not position or len(position) > _LONGEST or not position.isprintable():
            return
        with self._lock:
            others = [one for one in self._known if one not in named and one != position]
            self._known = (*others, position)[-_MOST:]
