"""What rests as a list of facts: applying them in their order makes it again."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any

Fact = list[Any]  # its name, and what it says


class Factual(abc.ABC):
    """A fact named `x` is applied by the method `_on_x`."""

    def __init__(self) -> None:
        self._news: list[Fact] = []

    def apply(self, fact: Fact) -> None:
        """Do what a fact says; whatever it leads to follows from it and what was before."""
        getattr(self, f"_on_{fact[0]}")(*fact[1:])

    def _change(self, *fact: Any) -> None:
        news = list(fact)
        self.apply(news)
        self._news.append(news)

    def take_news(self) -> list[Fact]:
        """The facts since the last call."""
        news, self._news = self._news, []
        return news

    def on_tick(self, time: int) -> None:
        """The clock has gone on to `time`."""

    def next_due(self) -> int | None:
        """When the clock is needed next; None: nothing waits for it."""
        return None

    @abc.abstractmethod
    def facts(self) -> Iterator[Fact]:
        """Facts that make this out of an empty one."""
