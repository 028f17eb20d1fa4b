"""Everything the library raises.

* SynopsisError
  - ParameterError      a parameter of a synopsis is missing, unknown or out of range
  - QueryError          a question is unknown, or one of its arguments is wrong
  - MergeError          two synopses do not share kind, parameters and seed
  - StateError          bytes are damaged, truncated, foreign or from another version
"""

from __future__ import annotations


class SynopsisError(Exception):
    """Base class: catch this to catch everything raised in `synopses`."""


class _NamedValueError(SynopsisError, ValueError):
    """Something named has a value other than what was expected."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(name, value, expected)  # all three, so it survives copying
        self.name, self.value, self.expected = name, value, expected

    def __str__(self) -> str:
        shown = repr(self.value)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        return f"{self.name}={shown}: expected {self.expected}"


class ParameterError(_NamedValueError):
    pass


class QueryError(_NamedValueError):
    pass


class MergeError(SynopsisError):
    pass


class StateError(SynopsisError):
    pass
