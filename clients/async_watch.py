"""A watch whose answers are waited for in an event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Generator
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from clients.answers import Answer
from clients.awaiting import Awaited, Threads
from clients.errors import ClientError
from clients.pending import Pending
from clients.records import Records
from clients.waiting import named_without_submit, submitted
from clients.watch import Watch

Plain = TypeVar("Plain")
Arguments = ParamSpec("Arguments")


class AsyncWatch(Awaited[Watch]):
    """`async for` its answers; leaving the `async with` block ends it in the engine too.

    What is said of `Watch` holds. It belongs to the event loop in which it was opened.
    """

    def __init__(self, watch: Watch, threads: Threads) -> None:
        super().__init__(watch, threads)
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        watch.tell(self._notify)

    @property
    def id(self) -> str:
        return self._plain.id

    @property
    def ended(self) -> str:
        """Why no more answers come; "" while it runs."""
        return self._plain.ended

    @property
    def dropped(self) -> int:
        """How many answers were lost because nobody read them in time."""
        return self._plain.dropped

    async def poll(self, seconds: float | None = 0.0) -> Answer | None:
        """The next answer, or None if none comes within `seconds` (None: as long as it runs)."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._next()
        return self._plain.poll()

    async def plot(self, answers: int = 20, *, axes: Any = None) -> Any:
        """Wait for so many answers, or its end, and draw them: a line with their bounds."""
        found: list[Answer] = []
        while len(found) < answers and (answer := await anext(self, None)) is not None:
            found.append(answer)
        return Records(found).plot(axes=axes)

    async def unwatch(self) -> None:
        """End it; what came before can still be read."""
        await asyncio.to_thread(self._plain.unwatch)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Answer:
        """Wait for the next answer: for ever, or for `timeout` seconds, then AnswerTimeout."""
        answer = await self.poll(self._plain.timeout)
        if answer is not None:
            return answer
        if self.ended:
            raise StopAsyncIteration
        raise self._plain.late()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            await self.unwatch()
        except ClientError:
            if kind is None:  # else the error that led here is the one to tell
                raise

    async def _next(self) -> Answer | None:
        """The next answer; None if it has ended."""
        while True:
            self._changed.clear()
            answer = self._plain.poll()
            if answer is not None or self.ended:
                return answer
            await self._changed.wait()

    def _notify(self) -> None:
        """Called in the thread that hears of answers."""
        with contextlib.suppress(RuntimeError):  # the event loop is over
            self._loop.call_soon_threadsafe(self._changed.set)


class Opening:
    """A watch that is about to begin: `await` it, or say `async with` at once."""

    def __init__(self, coroutine: Coroutine[Any, Any, AsyncWatch]) -> None:
        self._coroutine = coroutine
        self._watch: AsyncWatch | None = None

    def __await__(self) -> Generator[Any, Any, AsyncWatch]:
        return self._coroutine.__await__()

    async def __aenter__(self) -> AsyncWatch:
        self._watch = await self
        return self._watch

    async def __aexit__(self, *exception: Any) -> None:
        assert self._watch is not None
        await self._watch.__aexit__(*exception)


def opening(
    submit: Callable[Concatenate[Plain, Arguments], Pending[Watch]],
) -> Callable[Concatenate[Awaited[Plain], Arguments], Opening]:
    """The method that begins the watch that `submit` begins."""

    async def begin(threads: Threads, send: Callable[[], Pending[Watch]]) -> AsyncWatch:
        return AsyncWatch(await threads.arrived(await threads.run(threads.asks, send)), threads)

    @wraps(submit)
    def method(
        self: Awaited[Plain], /, *args: Arguments.args, **options: Arguments.kwargs
    ) -> Opening:
        send = partial(submitted, submit, self._plain, *args, **options)
        return Opening(begin(self._threads, send))

    named_without_submit(method, submit)
    return method
