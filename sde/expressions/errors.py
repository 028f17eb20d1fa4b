"""The one error of this room."""

from __future__ import annotations


class ExpressionError(ValueError):
    """A text is no expression: the message names the place, what stands there, what was expected.

    >>> print(ExpressionError(4, "found ')', expected a value"))
    at character 5: found ')', expected a value
    """

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(position, problem)  # both, so it survives copying
        self.position, self.problem = position, problem

    def __str__(self) -> str:
        return f"at character {self.position + 1}: {self.problem}"
