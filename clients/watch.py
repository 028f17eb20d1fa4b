"""A question that the engine answers again and again by itself."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any, Self

from clients.answers import Answer
from clients.errors import AnswerTimeout, ClientError, UnknownWatch, refused
from clients.feed import Feed
from clients.records import Records


class Watch:
    """Iterate over its answers; leaving the `with` block ends it in the engine too.

    Without `with` it runs on when this program ends, or the engine is started again: keep its
    `id` and come back with `client.watching(id)`. An answer comes once, with a growing `number`.
    Up to 1000 answers wait to be read; beyond that the oldest are dropped and `dropped` counts
    them. May be read by several threads: each answer goes to one of them.
    """

    def __init__(
        self,
        watch_id: str,
        feed: Feed,
        timeout: float | None,
        unwatch: Callable[[str], None],
        trouble: Callable[[], str],
        columns: tuple[str, ...] = (),
    ) -> None:
        self.id = watch_id
        self._feed = feed
        self.timeout = timeout
        self._unwatch = unwatch
        self._trouble = trouble
        self._columns = columns  # of rows, where values are rows

    @property
    def ended(self) -> str:
        """Why no more answers come, such as that its synopsis was deleted; "" while it runs."""
        return self._feed.ended

    @property
    def dropped(self) -> int:
        """How many answers were lost because nobody read them in time."""
        return self._feed.dropped

    def tell(self, on_change: Callable[[], None]) -> None:
        """Call this, in another thread, whenever `poll` may have something."""
        self._feed.tell(on_change)

    def poll(self, seconds: float | None = 0.0) -> Answer | None:
        """The next answer, or None if none comes within `seconds` (None: as long as it runs).

        Refused if the engine could not answer this time; the watch goes on.
        """
        reply = self._feed.take(seconds)
        if reply is None:
            return None
        if reply.get("status") == "error":
            raise refused(reply)
        return Answer.of(reply, self._columns)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Answer:
        """Wait for the next answer: for ever, or for `timeout` seconds, then AnswerTimeout."""
        answer = self.poll(self.timeout)
        if answer is not None:
            return answer
        if self.ended:
            raise StopIteration
        raise self.late()

    def late(self) -> AnswerTimeout:
        """That no answer came within `timeout`."""
        trouble = self._trouble()
        return AnswerTimeout(
            f"no answer of watch {self.id} within {self.timeout:g} s"
            + (f": {trouble}" if trouble else ""),
            self.id,
        )

    def plot(self, answers: int = 20, *, axes: Any = None) -> Any:
        """Wait for so many answers, or its end, and draw them: a line with their bounds."""
        return Records(itertools.islice(self, answers)).plot(axes=axes)

    def unwatch(self) -> None:
        """End it; what came before can still be read."""
        if not self.ended:
            with contextlib.suppress(UnknownWatch):  # it ended by itself meanwhile
                self._unwatch(self.id)
            self._feed.put({"ended": "unwatch"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            self.unwatch()
        except ClientError:
            if kind is None:  # else the error that led here is the one to tell
                raise

    def __repr__(self) -> str:
        return f"Watch({self.id!r}{f', ended={self.ended!r}' if self.ended else ''})"
