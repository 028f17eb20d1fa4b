"""Watches that run: which of them are due, and how far each has got."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sde.records.watching import Watching
from sde.wire import ON_CHANGE, ON_CLOSE


class Watches:
    def __init__(self) -> None:
        self._running: dict[str, Watching] = {}
        self._of_uid: dict[str, list[str]] = {}
        self._timed: dict[str, int] = {}  # those that ask by the clock, and how often
        self._each: list[str] = []  # those that answer for each key or stream of a batch
        self._by_occasion: dict[str, dict[str, list[str]]] = {}  # emptied when watches change
        self.due: list[str] = []  # by the last tick
        self.ended: list[Watching] = []  # since it was last emptied

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[Watching]:
        return iter(self._running.values())

    def __contains__(self, watch: str) -> bool:
        return watch in self._running

    def begin(self, watching: Watching) -> None:
        request, period = watching.request, watching.request.period
        self._by_occasion.clear()
        self._running[watching.id] = watching
        for uid in set(request.uids):
            self._of_uid.setdefault(uid, []).append(watching.id)
        if request.each:
            self._each.append(watching.id)
        if period is not None:
            self._timed[watching.id] = period
            if watching.due is None:
                watching.due = watching.since + period

    def end(self, watch: str) -> None:
        self._by_occasion.clear()
        request = self._running[watch].request
        for uid in set(request.uids):
            self._of_uid[uid].remove(watch)
            if not self._of_uid[uid]:
                del self._of_uid[uid]
        self._timed.pop(watch, None)
        if request.each:
            self._each.remove(watch)
        self.ended.append(self._running.pop(watch))

    def end_of(self, uid: str) -> None:
        """A synopsis is gone, and its watches with it."""
        for watch in list(self._of_uid.get(uid, ())):
            self.end(watch)

    def on_tick(self, time: int) -> None:
        """Those that are due ask once, however many times they were missed.

        None is due later than a period from now: the clock of a client that was ahead when it
        asked does not keep its watch waiting.
        """
        self.due = []
        for watch, every in self._timed.items():
            running = self._running[watch]
            assert running.due is not None
            running.due = min(running.due, time + every)
            if running.due <= time:
                self.due.append(watch)
                running.due += every * (1 + (time - running.due) // every)
                if running.request.when is None:
                    running.number += 1

    def answered(self, watch: str, number: int, value: Any, holds: bool | None) -> None:
        running = self._running[watch]
        running.number, running.last, running.holds = number, value, holds

    def next_due(self) -> int | None:
        dues = (self._running[watch].due for watch in self._timed)
        return min((due for due in dues if due is not None), default=None)

    def get(self, watch: str) -> Watching:
        return self._running[watch]

    def changing(self) -> dict[str, list[str]]:
        """The watches that answer on change, by each uid they ask."""
        return self._by_uid(ON_CHANGE)

    def closing(self) -> dict[str, list[str]]:
        """The watches that answer when a window closes, by each uid they ask."""
        return self._by_uid(ON_CLOSE)

    def _by_uid(self, on: str) -> dict[str, list[str]]:
        if on not in self._by_occasion:
            found: dict[str, list[str]] = {}
            for uid, watches in self._of_uid.items():
                if these := [w for w in watches if self._answers_on(w, on)]:
                    found[uid] = these
            self._by_occasion[on] = found
        return self._by_occasion[on]

    def _answers_on(self, watch: str, on: str) -> bool:
        request = self._running[watch].request
        return request.occasion == on and not request.each

    def of_each(self) -> list[str]:
        """The watches that answer for each key or stream of a batch."""
        return list(self._each)
