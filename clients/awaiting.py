"""Methods as coroutines, made of those that do not wait: the twin of `waiting`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from clients.closed import refuse_closed
from clients.pending import Pending
from clients.waiting import named_without_submit, submitted

Plain = TypeVar("Plain")  # the class that waits, or the base that has the method
PlainOf = TypeVar("PlainOf", covariant=True)  # Client, SynopsisHandle, Watch
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Other = TypeVar("Other")


class Threads:
    """One that asks and reads replies, one that sends tuples: each keeps the order of its calls.

    They are there because both may have to wait for a while, and an event loop must not.
    """

    def __init__(self) -> None:
        self.asks = ThreadPoolExecutor(1, "sde-async-asks")
        self.sends = ThreadPoolExecutor(1, "sde-async-sends")
        self._closed = False

    async def run(self, thread: ThreadPoolExecutor, call: Callable[[], Result]) -> Result:
        if self._closed:
            refuse_closed()
        return await asyncio.get_running_loop().run_in_executor(thread, call)

    async def arrived(self, pending: Pending[Result]) -> Result:
        """The result of a request, without blocking the event loop."""
        found: Result | Pending[Result] = pending
        while isinstance(found, Pending):
            reply = await found.arrival()
            found = await self.run(self.asks, partial(found.settle, reply))
        return found

    def close(self) -> None:
        """What was handed to them is done still."""
        self._closed = True
        for each in (self.asks, self.sends):
            each.shutdown(wait=False)


class Awaited(Generic[PlainOf]):
    """An object whose methods are coroutines over those of `plain`."""

    def __init__(self, plain: PlainOf, threads: Threads) -> None:
        self._plain, self._threads = plain, threads

    def __repr__(self) -> str:
        return f"<async {repr(self._plain).removeprefix('<').removesuffix('>')}>"


@overload
def awaited(
    submit: Callable[Concatenate[Plain, Arguments], Pending[Result]],
) -> Callable[Concatenate[Awaited[Plain], Arguments], Coroutine[Any, Any, Result]]: ...


@overload
def awaited(
    submit: Callable[Concatenate[Plain, Arguments], Pending[Result]],
    become: Callable[[Result, Threads], Other],
) -> Callable[Concatenate[Awaited[Plain], Arguments], Coroutine[Any, Any, Other]]: ...


def awaited(
    submit: Callable[Concatenate[Plain, Arguments], Pending[Any]],
    become: Callable[[Any, Threads], Any] | None = None,
) -> Callable[Concatenate[Awaited[Plain], Arguments], Coroutine[Any, Any, Any]]:
    """The coroutine that sends what `submit` sends, and waits for what the result shall become."""

    @wraps(submit)
    async def wait(
        self: Awaited[Plain], /, *args: Arguments.args, **options: Arguments.kwargs
    ) -> Any:
        send = partial(submitted, submit, self._plain, *args, **options)
        pending = await self._threads.run(self._threads.asks, send)
        found = await self._threads.arrived(pending)
        return found if become is None else become(found, self._threads)

    named_without_submit(wait, submit)
    return wait


def sending(
    method: Callable[Concatenate[Plain, Arguments], Result],
) -> Callable[Concatenate[Awaited[Plain], Arguments], Coroutine[Any, Any, Result]]:
    """The coroutine that has a method of the plain class done in the thread that sends."""

    @wraps(method)
    async def wait(
        self: Awaited[Plain], /, *args: Arguments.args, **options: Arguments.kwargs
    ) -> Result:
        call = partial(method, self._plain, *args, **options)
        return await self._threads.run(self._threads.sends, call)

    return wait
