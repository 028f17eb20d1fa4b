"""A handle of one synopsis in the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from clients.answers import Answer, Description, SnapshotInfo
from clients.times import Duration, Moment
from clients.watch import Watch

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
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
        sites: str | Sequence[str] | None = None,
        deadline: Duration | None = None,
        **query: Any,
    ) -> Answer:
        """Ask: `trades.estimate(key="AAPL")`, `trades.estimate("inner_product", orders)`."""
        return self._client.estimate(
            [self, *others],
            question,
            stream=stream,
            end=end,
            span=span,
            sites=sites,
            deadline=deadline,
            **query,
        )

    def watch(
        self,
        question: str | None = None,
        /,
        *others: SynopsisHandle | str,
        every: Duration | None = None,
        on: str | None = None,
        by: float | str | None = None,
        when: str | None = None,
        stream: str | None = None,
        sites: str | Sequence[str] | None = None,
        deadline: Duration | None = None,
        drift: float | None = None,
        timeout: float | None = None,
        **query: Any,
    ) -> Watch:
        """Ask again and again: `with trades.watch(key="AAPL", every="1s") as answers: ...`."""
        return self._client.watch(
            [self, *others],
            question,
            every=every,
            on=on,
            by=by,
            when=when,
            stream=stream,
            sites=sites,
            deadline=deadline,
            drift=drift,
            timeout=timeout,
            **query,
        )

    def export(
        self,
        *,
        stream: str | None = None,
        format: ExportFormat = "native",
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
    ) -> bytes:
        """Its state, to keep or to read elsewhere."""
        return self._client.export(self, stream=stream, format=format, end=end, span=span)

    def import_state(
        self, state: bytes, *, stream: str | None = None, replace: bool = False, tuples: int = 0
    ) -> None:
        """Merge a state into it, or put it in the place of what it holds."""
        self._client.import_state(self, state, stream=stream, replace=replace, tuples=tuples)

    def snapshot(self, version: str | None = None) -> str:
        """Keep a version of it; the version's name."""
        return self._client.snapshot(self, version)

    def restore(
        self, version: str | None = None, *, as_uid: SynopsisHandle | str | None = None
    ) -> SynopsisHandle:
        """Bring a version back, the newest if none is named."""
        return self._client.restore(self, version, as_uid=as_uid)

    def snapshots(self) -> tuple[SnapshotInfo, ...]:
        return self._client.snapshots(self)

    def describe(self) -> Description:
        return self._client.describe(self)

    def delete(self) -> None:
        self._client.delete(self)
