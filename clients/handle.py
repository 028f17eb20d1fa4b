"""A handle of one synopsis in the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from clients.answers import Answer, Description

if TYPE_CHECKING:
    from clients.client import Client

ExportFormat = Literal["native", "datasketches"]


@dataclass(frozen=True, slots=True)
class SynopsisHandle:
    """A synopsis that lives in the engine, known by its uid."""

    uid: str
    _client: Client = field(repr=False, compare=False)

    def estimate(
        self,
        question: str | None = None,
        /,
        *others: SynopsisHandle | str,
        stream: str | None = None,
        **query: Any,
    ) -> Answer:
        """Ask: `trades.estimate(key="AAPL")`, `trades.estimate("inner_product", orders)`."""
        return self._client.estimate([self, *others], question, stream=stream, **query)

    def export(self, *, stream: str | None = None, format: ExportFormat = "native") -> bytes:
        """Its state, to keep or to read elsewhere."""
        return self._client.export(self, stream=stream, format=format)

    def describe(self) -> Description:
        return self._client.describe(self)

    def delete(self) -> None:
        self._client.delete(self)
