"""Reading the fields of a JSON object, with refusals that name field, value and expectation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from sde.wire.durations import EXPECTED as A_DURATION
from sde.wire.durations import milliseconds
from sde.wire.faults import Code, Refusal

LONGEST_NAME = 512  # characters of an id, uid, data set, stream or field name


class Fields:
    """One JSON object; remembers which of its fields were asked for."""

    def __init__(self, message: dict[str, Any], within: str = "") -> None:
        self._message = message
        self._within = within  # the names of the objects around it, each with a dot behind
        self._known: set[str] = set()

    def has(self, name: str) -> bool:
        self._known.add(name)
        return self._message.get(name) is not None

    def refuse(self, name: str, expected: str, code: Code = Code.BAD_REQUEST) -> NoReturn:
        shown = repr(self._message.get(name))
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        full = f"{self._within}{name}"
        raise Refusal(code, f"{full}={shown}: expected {expected}", full)

    def text(self, name: str, default: str | None = None) -> str:
        if not self.has(name) and default is not None:
            return default
        value = self._message.get(name)
        if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME:
            self.refuse(name, f"a text of 1 to {LONGEST_NAME} characters")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """One text, a list of texts, or nothing."""
        if not self.has(name):
            return ()
        value = self._message[name]
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(t, str) and 0 < len(t) <= LONGEST_NAME for t in texts):
            self.refuse(name, "a field name or a list of field names")
        return tuple(texts)

    def uid(self, name: str) -> str:
        """A uid is a text; a whole number stands for its digits."""
        value = self._message.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            self.has(name)
            return str(value)
        return self.text(name)

    def uids(self, name: str) -> tuple[str, ...]:
        value = self._message.get(name)
        if not isinstance(value, list) or not 1 <= len(value) <= 1000:
            self.refuse(name, "a list of 1 to 1000 uids")
        return tuple(Fields({name: uid}).uid(name) for uid in value)

    def object(self, name: str) -> dict[str, Any]:
        if not self.has(name):
            return {}
        value = self._message[name]
        if not isinstance(value, dict):
            self.refuse(name, "an object")
        return value

    def nested(self, name: str) -> Fields:
        """The fields of an object within this one."""
        return Fields(self.object(name), f"{self._within}{name}.")

    def duration(self, name: str, default: int | None = None) -> int:
        """Milliseconds."""
        if not self.has(name) and default is not None:
            return default
        found = milliseconds(self._message.get(name))
        if found is None:
            self.refuse(name, A_DURATION)
        return found

    def number_or_none(self, name: str) -> int | float | None:
        """None if the field is absent or something else than a number."""
        self.has(name)
        value = self._message.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if is_number else None

    def moment(self, name: str) -> int:
        """Milliseconds since the epoch (or another whole number)."""
        value = self.number_or_none(name)
        if not isinstance(value, int) or abs(value) >= 2**62:
            self.refuse(name, "a whole number")
        return value

    def any(self, name: str) -> Any:
        self.has(name)
        return self._message.get(name)

    def flag(self, name: str) -> bool:
        value = self._message.get(name) if self.has(name) else False
        if not isinstance(value, bool):
            self.refuse(name, "true or false")
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of `choices`, the first if none is given."""
        value = self._message.get(name) if self.has(name) else choices[0]
        if value not in choices:
            self.refuse(name, "one of " + ", ".join(choices))
        return str(value)

    def scope(self, name: str) -> tuple[str, str | None]:
        """`"dataset"` (the default), `"stream"`, or `{"stream": NAME}`."""
        value = self._message.get(name) if self.has(name) else "dataset"
        if value in ("dataset", "stream"):
            return str(value), None
        if isinstance(value, dict) and list(value) == ["stream"]:
            return "stream", Fields(value).text("stream")
        self.refuse(name, '"dataset", "stream" or {"stream": "<name>"}')

    def refuse_unknown(self, also: Iterable[str]) -> None:
        """A misspelt field must not be ignored in silence."""
        for name in self._message:
            if name not in self._known and name not in also:
                known = ", ".join(sorted({*self._known, *also}))
                full = f"{self._within}{name[:80]}"
                raise Refusal(
                    Code.BAD_REQUEST, f"unknown field {full!r}: expected only {known}", full
                )
