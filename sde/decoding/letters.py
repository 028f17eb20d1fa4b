"""The dead letters of one decoding: one for each refused message or line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.wire.faults import Code, Fault
from sde.wire.replies import dead_letter


def count_refused(letters: Iterable[Mapping[str, Any]]) -> int:
    """How many records letters are about: each about one, but for those that say how many."""
    return sum(letter.get("lines", 1) for letter in letters)


class Letters:
    """Collects the letters while messages are decoded; every step of decoding may refuse.

    A message of a million bad lines must not become a million letters: the lines of a message
    beyond a limit are counted, and one letter at its end says how many they are.
    """

    def __init__(self, messages: Messages, limits: Limits) -> None:
        self._messages, self._limits = messages, limits
        self._letters: list[tuple[int, int, dict[str, object]]] = []  # message, line, letter
        self._counts: Counter[int] = Counter()  # refused lines, by message

    def room(self, message: int) -> bool:
        """Whether one more line of the message would get a letter of its own."""
        return self._counts[message] < self._limits.max_letters

    def refuse(self, message: int, line: int, fault: Fault, payload: bytes) -> None:
        """A line of the message with this index was refused; `payload` is that line."""
        if self.room(message):
            self._add(message, line, fault, payload)
        self._counts[message] += 1

    def _add(self, message: int, line: int, fault: Fault, payload: bytes, **more: object) -> None:
        m = self._messages
        offset = int(m.offsets[message])
        letter = dead_letter(m.topic, m.partition, offset, line, fault, payload)
        self._letters.append((message, line, {**letter, **more}))

    def sorted(self) -> list[dict[str, object]]:
        """All letters, in the order of the lines they are about. To be called once, at the end."""
        for message, count in self._counts.items():
            more = count - self._limits.max_letters
            if more > 0:
                text = f"{more} more lines of this message were refused, not told one by one"
                after_every_line = 1 << 32
                fault = Fault(Code.TOO_LARGE, text)
                payload = self._messages.payload(message)
                self._add(message, after_every_line, fault, payload, lines=more)
        self._letters.sort(key=lambda entry: entry[:2])
        return [letter for _, _, letter in self._letters]
