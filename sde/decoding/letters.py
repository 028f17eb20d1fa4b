"""The dead letters of one decoding: one for each refused message or line."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.wire.faults import Code, Fault
from sde.wire.replies import dead_letter


class Letters:
    """A message of a million bad lines must not become a million letters: the lines of a message
    beyond a limit are counted, and told in one letter at its end."""

    def __init__(self, messages: Messages, limits: Limits) -> None:
        self._messages, self._limits = messages, limits
        self._letters: list[dict[str, Any]] = []
        self._counts: Counter[int] = Counter()

    def room(self, message: int) -> bool:
        """Whether one more line of the message would be told of."""
        return self._counts[message] < self._limits.max_letters

    def refuse(self, message: int, line: int, fault: Fault, payload: bytes) -> None:
        if self.room(message):
            m = self._messages
            offset = int(m.offsets[message])
            letter = dead_letter(m.topic, m.partition, offset, line, fault, payload)
            self._letters.append(letter)
        self._counts[message] += 1

    def sorted(self) -> list[dict[str, Any]]:
        """All letters, in the order of what they tell of."""
        for message, count in self._counts.items():
            more = count - self._limits.max_letters
            if more > 0:
                text = f"{more} more lines of this message were refused, not told one by one"
                m = self._messages
                letter = dead_letter(
                    m.topic,
                    m.partition,
                    int(m.offsets[message]),
                    1 << 32,  # after every line
                    Fault(Code.TOO_LARGE, text),
                    m.payload(message),
                )
                self._letters.append(letter)
        return sorted(self._letters, key=lambda letter: (letter["offset"], letter["line"]))
