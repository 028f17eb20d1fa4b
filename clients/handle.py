"""A handle of one synopsis in the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from clients.answers import Answer
from clients.descriptions import Description, SnapshotInfo, StreamInfo, WatchInfo
from clients.pending import Pending
from clients.records import Records
from clients.times import Duration, Moment, Seconds
from clients.waiting import waiting
from clients.watch import Watch

if TYPE_CHECKING:
    from clients.client import Client

Stream = str | int  # a whole number is its digits
Scope = Literal["dataset", "stream"] | Mapping[str, Stream]  # {"stream": name}
Occasion = Literal["change", "close"]
Each = Literal["key", "stream"]
ExportFormat = Literal["native", "datasketches"]
Sites = str | Sequence[str]


@runtime_checkable
class HasUid(Protocol):
    """What is known by a uid: a handle, or a description."""

    @property
    def uid(self) -> str: ...


Uid = str | int | HasUid


@dataclass(frozen=True, slots=True, repr=False)
class SynopsisHandle:
    """A synopsis that lives in the engine, known by its uid.

    Its methods are those of the client, which explains their arguments; `submit_…` do not wait.
    """

    uid: str
    _client: Client = field(compare=False)
    kind: str = field(default="", compare=False)  # "" if it was not created here
    dataset: str = field(default="", compare=False)

    def __repr__(self) -> str:
        of = f", {self.kind} of {self.dataset}" if self.kind else ""
        return f"<synopsis {self.uid}{of}>"

    def submit_estimate(
        self,
        question: str | None = None,
        /,
        *others: Uid,
        query: Mapping[str, Any] | None = None,
        stream: Stream | None = None,
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
        sites: Sites | None = None,
        deadline: Duration | None = None,
        **arguments: Any,
    ) -> Pending[Answer]:
        """Ask: `trades.estimate(key="AAPL")`, `trades.estimate("inner_product", orders)`."""
        return self._client.submit_estimate(
            [self, *others],
            question,
            query=query,
            stream=stream,
            end=end,
            span=span,
            sites=sites,
            deadline=deadline,
            **arguments,
        )

    estimate = waiting(submit_estimate)

    def submit_estimate_streams(
        self,
        question: str | None = None,
        /,
        *,
        query: Mapping[str, Any] | None = None,
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
        top: int | None = None,
        **arguments: Any,
    ) -> Pending[Records[Answer]]:
        """Ask all its streams: `prices.estimate_streams(q=0.5, top=10)`."""
        return self._client.submit_estimate_streams(
            self, question, query=query, end=end, span=span, top=top, **arguments
        )

    estimate_streams = waiting(submit_estimate_streams)

    def submit_streams(self) -> Pending[Records[StreamInfo]]:
        """Its streams with their figures, at scope "stream"."""
        return self._client.submit_streams(self)

    streams = waiting(submit_streams)

    def submit_watch(
        self,
        question: str | None = None,
        /,
        *others: Uid,
        every: Duration | None = None,
        on: Occasion | None = None,
        threshold: float | str | None = None,
        when: str | None = None,
        each: Each | None = None,
        drift: float | None = None,
        timeout: Seconds | None = None,
        query: Mapping[str, Any] | None = None,
        stream: Stream | None = None,
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
        sites: Sites | None = None,
        deadline: Duration | None = None,
        **arguments: Any,
    ) -> Pending[Watch]:
        """Ask again and again: `with trades.watch(key="AAPL", every="1s") as answers: ...`."""
        return self._client.submit_watch(
            [self, *others],
            question,
            every=every,
            on=on,
            threshold=threshold,
            when=when,
            each=each,
            drift=drift,
            timeout=timeout,
            query=query,
            stream=stream,
            end=end,
            span=span,
            sites=sites,
            deadline=deadline,
            **arguments,
        )

    watch = waiting(submit_watch)

    def submit_watches(self) -> Pending[Records[WatchInfo]]:
        """The watches that ask it."""
        return self._client.submit_watches(self)

    watches = waiting(submit_watches)

    def submit_export(
        self,
        *,
        stream: Stream | None = None,
        format: ExportFormat = "native",
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
    ) -> Pending[bytes]:
        """Its state, to keep or to read elsewhere."""
        return self._client.submit_export(self, stream=stream, format=format, end=end, span=span)

    export = waiting(submit_export)

    def submit_import_state(
        self, state: bytes, *, stream: Stream | None = None, replace: bool = False, tuples: int = 0
    ) -> Pending[None]:
        """Merge a state into it, or put it in the place of what it holds."""
        return self._client.submit_import_state(
            self, state, stream=stream, replace=replace, tuples=tuples
        )

    import_state = waiting(submit_import_state)

    def submit_snapshot(
        self, version: str | None = None, *, replace: bool = False, keep: int | None = None
    ) -> Pending[str]:
        """Keep a version of it; the version's name."""
        return self._client.submit_snapshot(self, version, replace=replace, keep=keep)

    snapshot = waiting(submit_snapshot)

    def submit_restore(
        self, version: str | None = None, *, as_uid: Uid | None = None
    ) -> Pending[SynopsisHandle]:
        """Bring a version back, the newest if none is named."""
        return self._client.submit_restore(self, version, as_uid=as_uid)

    restore = waiting(submit_restore)

    def submit_snapshots(self) -> Pending[Records[SnapshotInfo]]:
        """The versions that are kept of it, the oldest first."""
        return self._client.submit_snapshots(self)

    snapshots = waiting(submit_snapshots)

    def submit_describe(self, *, digest: bool = False) -> Pending[Description]:
        """Its definition and its figures."""
        return self._client.submit_describe(self, digest=digest)

    describe = waiting(submit_describe)

    def submit_delete(
        self, *, sites: Sites | None = None, deadline: Duration | None = None
    ) -> Pending[None]:
        """End it, at the `sites` named too."""
        return self._client.submit_delete(self, sites=sites, deadline=deadline)

    delete = waiting(submit_delete)
