"""`create` is `submit_create` that waits: both come from one declaration."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Concatenate, ParamSpec, TypeVar

from clients.errors import BadInput
from clients.pending import Pending
from sde.wire.nearest import nearest

Self = TypeVar("Self")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def waiting(
    submit: Callable[Concatenate[Self, Arguments], Pending[Result]],
) -> Callable[Concatenate[Self, Arguments], Result]:
    """The method that sends what `submit` sends, and waits for the result."""

    @functools.wraps(submit)
    def wait(self: Self, /, *args: Arguments.args, **options: Arguments.kwargs) -> Result:
        return submitted(submit, self, *args, **options).result()

    named_without_submit(wait, submit)
    return wait


def submitted(
    submit: Callable[Concatenate[Self, Arguments], Pending[Result]],
    self: Self,
    /,
    *args: Arguments.args,
    **options: Arguments.kwargs,
) -> Pending[Result]:
    """What `submit` sends; BadInput if it cannot be called so."""
    try:
        return submit(self, *args, **options)
    except TypeError as error:
        name = submit.__name__.removeprefix("submit_")
        _check_call(name, submit, (self, *args), options, error)
        raise


def named_without_submit(method: Callable[..., object], submit: Callable[..., object]) -> None:
    """Give a method that was made of another its name, and a signature without its result."""
    method.__name__ = submit.__name__.removeprefix("submit_")
    method.__qualname__ = submit.__qualname__.replace("submit_", "")
    # `help` would show that it returns a Pending.
    signature = inspect.signature(submit).replace(return_annotation=inspect.Signature.empty)
    method.__signature__ = signature  # type: ignore[attr-defined]


def _check_call(
    name: str,
    submit: Callable[..., object],
    args: tuple[object, ...],
    options: Mapping[str, object],
    error: TypeError,
) -> None:
    """BadInput if the method cannot be called so: in its own name, with what was misspelt."""
    signature = inspect.signature(submit)
    try:
        signature.bind(*args, **options)
    except TypeError as reason:
        missing = [each for each in signature.parameters if each not in options]
        hints = (f"{option}: {hint}" for option in options if (hint := nearest(option, missing)))
        raise BadInput(f"{name}: {reason}. {next(hints, '')}".rstrip()) from error
