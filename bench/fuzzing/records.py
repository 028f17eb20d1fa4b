"""Records of JSON of any form: made from a grammar, repeated with other values, and mutated."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from bench.fuzzing.mutations import mutated, over_lines, rearranged
from bench.fuzzing.rows import BROKEN, NUMBERS, OTHERS, TEXTS, TOKENS

NAMES = ("a", "b", "c", "items", "a.b", "b[0]", "[0]", "", ".", "\u00e9", "a longer name, of eight")
# What is read of the records of one turn: paths, the array that is spread, whether one a line.
READINGS: tuple[tuple[frozenset[str] | None, str | None, bool], ...] = (
    (None, None, True),
    (frozenset({"a", "a.b", "b[0]", "b[1].c", "items[0].a", "c.c.c", "", "\u00e9"}), None, False),
    (None, "items", False),
    (frozenset({"a", "items.a", "items", "items[1]", "c.b"}), "items", True),
    (frozenset({"a.a", "a.b.c"}), "a.b", False),
    (None, "b[20].a", False),
)
_HOLE = '"\\u0001hole"'  # as JSON writes the text that stands for a scalar


class Records:
    """Makes messages of records."""

    def __init__(self, seed: int | str) -> None:
        self._rng = Random(seed)
        self._forms = [self._form()]

    def messages(self, count: int) -> list[bytes]:
        """Messages of so many records in all: one, an array, or lines."""
        rng, messages, done = self._rng, [], 0
        sound = [self._record()]
        while done < count:
            size = 1 if rng.random() < 0.8 else int(rng.random() * 8)
            records = []
            for _ in range(size):
                sound = [*sound[-20:], self._record()]
                records.append(self._changed(sound))
            separator = rng.random()
            if size == 1:
                messages.append(over_lines(records[0]) if separator < 0.05 else records[0])
            elif separator < 0.5:
                messages.append(b"[" + b", "[: 1 + (separator < 0.2)].join(records) + b"]")
            else:
                messages.append(b"\n".join(records))
            done += max(size, 1)
        return messages

    def _changed(self, sound: list[bytes]) -> bytes:
        """The last record, or one before it that was changed."""
        rng = self._rng
        chance = rng.random()
        recent = sound[-1 - int(rng.random() * len(sound))]
        if chance < 0.15:
            recent = mutated(rng, recent, sound, TOKENS)
        elif chance < 0.3:
            recent = rearranged(rng, recent, TOKENS)
        return (sound[-1] if chance > 0.5 else recent)[:4000]

    def _record(self) -> bytes:
        """A form that was there before, most often, with other values."""
        rng = self._rng
        if rng.random() < 0.05:
            self._forms = [*self._forms[-3:], self._form()]
        parts = self._forms[int(rng.random() * len(self._forms))].split(_HOLE)
        text = parts[0] + "".join(self._scalar() + part for part in parts[1:])
        return text.encode("utf-8", "surrogatepass")

    def _form(self) -> str:
        rng = self._rng
        return json.dumps(
            {self._name(): self._value(1) for _ in range(int(rng.random() * 7))},
            separators=((",", ":"), (", ", ": "))[rng.random() < 0.3],
            ensure_ascii=rng.random() < 0.5,
        )

    def _name(self) -> str:
        return NAMES[int(self._rng.random() * len(NAMES))]

    def _value(self, depth: int) -> Any:
        rng = self._rng
        chance = rng.random() * (1.5 if depth < 4 else 1)
        if chance < 1:
            return "\u0001hole"
        size = int(rng.random() * 4) if rng.random() < 0.95 else 24
        if chance < 1.25:
            return [self._value(depth + 1) for _ in range(size)]
        return {self._name(): self._value(depth + 1) for _ in range(size)}

    def _scalar(self) -> str:
        rng = self._rng
        chance = rng.random()
        if chance < 0.3:
            return str(int(rng.random() * 1000))
        if chance < 0.5:
            return repr(rng.random() * 10 ** int(rng.random() * 9))
        some = TEXTS if chance < 0.8 else NUMBERS if chance < 0.9 else OTHERS
        some = some if chance < 0.995 else BROKEN
        return some[int(rng.random() * len(some))]
