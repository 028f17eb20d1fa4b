"""Objects that rest as a list of facts: applying the facts in their order makes them again."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Fact = list[Any]  # its name, and what it says


class Factual(abc.ABC):
    """Something that facts make: each changes it in one way, which `handlers` names.

    `sde.storage.fact_file` writes the facts that are new after each batch, and every process that
    works on the shard applies them. Facts are durable: what a fact means may never change.
    """

    def __init__(self) -> None:
        self._news: list[Fact] = []
        self._handlers = self.handlers()

    @abc.abstractmethod
    def handlers(self) -> Mapping[str, Callable[..., None]]:
        """The method that applies a fact, by the name of the fact."""

    def apply(self, fact: Fact) -> None:
        """Do what a fact says; whatever it leads to follows from it and what was before."""
        self._handlers[fact[0]](*fact[1:])

    def _change(self, *fact: Any) -> None:
        """Apply a new fact and remember that it has to be written."""
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
