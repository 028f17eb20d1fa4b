"""`create` is `submit_create` that waits: both come from one declaration."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from clients.pending import Pending

Self = TypeVar("Self")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def waiting(
    submit: Callable[Concatenate[Self, Arguments], Pending[Result]],
) -> Callable[Concatenate[Self, Arguments], Result]:
    """The method that sends what `submit` sends, and waits for the result."""

    @functools.wraps(submit)
    def wait(self: Self, /, *args: Arguments.args, **options: Arguments.kwargs) -> Result:
        return submit(self, *args, **options).result()

    wait.__name__ = submit.__name__.removeprefix("submit_")
    wait.__qualname__ = submit.__qualname__.replace("submit_", "")
    # `help` would show that it returns a Pending.
    signature = inspect.signature(submit).replace(return_annotation=inspect.Signature.empty)
    wait.__signature__ = signature  # type: ignore[attr-defined]
    return wait
