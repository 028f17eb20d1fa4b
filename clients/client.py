"""Talk to a running engine.

with Client("localhost:9092") as sde:
    trades = sde.create("count_min", dataset="Forex", key="StockID", epsilon=0.01)
    sde.send("Forex", "EURUSD", {"StockID": "EURUSD", "price": 1.0712})
    sde.flush()
    print(trades.estimate(key="EURUSD"))
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Self

from clients.answers import Answer, Description, SiteInfo
from clients.connection import Connection
from clients.fields import Sites, Uid, over, question_fields, text
from clients.handle import SynopsisHandle
from clients.kafka import KafkaTransport
from clients.pending import Pending
from clients.plugin_requests import PluginRequests
from clients.sender import Sender
from clients.state_requests import StateRequests
from clients.times import Duration, Moment, duration, span_of, window_of
from clients.transport import Message, Transport
from clients.watch import Watch


class Client(Sender, StateRequests, PluginRequests):
    """Requests to an engine and tuples for it. May be used by several threads.

    `engine` is the address of its Kafka, or a transport. A request waits `timeout` seconds for
    its answer, if not told otherwise as many as SDE_TIMEOUT in the environment says, or 10. The
    `submit_…` methods do not wait: thousands of requests can be in flight.
    """

    def __init__(self, engine: str | Transport, *, timeout: float | None = None) -> None:
        super().__init__(KafkaTransport(engine) if isinstance(engine, str) else engine)
        if timeout is None:
            timeout = float(os.environ.get("SDE_TIMEOUT", 10))
        self._connection = Connection(self._transport, timeout)

    # -- synopses -----------------------------------------------------------------------------

    def create(
        self,
        kind: str,
        /,
        *,
        dataset: str,
        uid: Uid | None = None,
        key: str | None = None,
        value: str | Sequence[str] | None = None,
        scope: str | Mapping[str, str] = "dataset",
        window: Mapping[str, Any] | float | None = None,
        ttl: Duration | None = None,
        idle: Duration | None = None,
        reuse: bool = False,
        sites: Sites | None = None,
        deadline: Duration | None = None,
        **params: Any,
    ) -> SynopsisHandle:
        """Create a synopsis of the fields `key` and `value`; `params` are those of its kind.

        `scope` is "dataset", "stream" (one for each stream) or {"stream": name}. With `reuse` a
        synopsis with the same definition serves, if there is one. It is deleted after `ttl`; at
        scope "stream", a stream without a tuple for as long as `idle` is forgotten. Durations are
        texts such as "5m", or timedeltas.

        `window` is as on the wire: {"type": "sliding", "size": "5m", "slide": "10s"}. A number
        is the parameter of that name, which a few kinds have.

        `sites` are the names of those that shall have it, "*" all; each has to say so before the
        `deadline` ("5s").
        """
        return self.submit_create(
            kind,
            dataset=dataset,
            uid=uid,
            key=key,
            value=value,
            scope=scope,
            window=window,
            ttl=ttl,
            idle=idle,
            reuse=reuse,
            sites=sites,
            deadline=deadline,
            **params,
        ).result()

    def submit_create(
        self,
        kind: str,
        /,
        *,
        dataset: str,
        uid: Uid | None = None,
        key: str | None = None,
        value: str | Sequence[str] | None = None,
        scope: str | Mapping[str, str] = "dataset",
        window: Mapping[str, Any] | float | None = None,
        ttl: Duration | None = None,
        idle: Duration | None = None,
        reuse: bool = False,
        sites: Sites | None = None,
        deadline: Duration | None = None,
        **params: Any,
    ) -> Pending[SynopsisHandle]:
        """`create` without waiting."""
        named = f"{kind}-{uuid.uuid4().hex[:12]}" if uid is None else text(uid)
        if window is not None and not isinstance(window, Mapping):
            params["window"], window = window, None
        fields: Message = {
            "uid": named,
            "dataset": dataset,
            "kind": kind,
            "params": params,
            "key": key,
            "value": list(value) if value is not None and not isinstance(value, str) else value,
            "scope": scope,
            "window": window_of(window) if window is not None else None,
            "ttl": duration(ttl),
            "idle": duration(idle),
            "reuse": reuse or None,
            **over(sites, deadline),
        }
        return self._connection.submit(
            "create", fields, lambda reply: self.synopsis(reply.get("uid", named))
        )

    def delete(
        self, uid: Uid, /, *, sites: Sites | None = None, deadline: Duration | None = None
    ) -> None:
        fields = {"uid": text(uid), **over(sites, deadline)}
        self._connection.submit("delete", fields, _nothing).result()

    def describe(self, uid: Uid, /) -> Description:
        def read(reply: Message) -> Description:
            return Description.of({"uid": text(uid), **reply["value"]})

        return self._connection.submit("describe", {"uid": text(uid)}, read).result()

    def list(self, dataset: str | None = None) -> tuple[Description, ...]:
        """All synopses, or those of one data set."""

        def read(reply: Message) -> tuple[Description, ...]:
            return tuple(Description.of(each) for each in reply["value"])

        return self._connection.submit("list", {"dataset": dataset}, read).result()

    def synopsis(self, uid: Uid) -> SynopsisHandle:
        """A handle of a synopsis that exists already; nothing is asked."""
        return SynopsisHandle(text(uid), self)

    def submit(self, op: str, /, **fields: Any) -> Pending[Message]:
        """Any request of the wire format, without waiting; its result is the whole reply."""
        return self._connection.submit(op, fields, lambda reply: reply)

    # -- questions ----------------------------------------------------------------------------

    def estimate(
        self,
        synopses: Uid | Sequence[Uid],
        question: str | None = None,
        /,
        *,
        stream: str | None = None,
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
        sites: Sites | None = None,
        deadline: Duration | None = None,
        **query: Any,
    ) -> Answer:
        """Ask one synopsis, or several: `estimate(["a", "b"], "inner_product")`.

        Without `question` the kind's first question is meant. Of a windowed synopsis the open
        window answers, with `end` the one that closed there, with `span` all that is kept from
        one time to another. Times are milliseconds, ISO 8601 or datetimes with a time zone.

        With `sites` (names, or "*" for all) the answer is about what all of them hold. Those that
        do not answer before the `deadline` ("5s") are in `missing`.
        """
        return self.submit_estimate(
            synopses,
            question,
            stream=stream,
            end=end,
            span=span,
            sites=sites,
            deadline=deadline,
            **query,
        ).result()

    def submit_estimate(
        self,
        synopses: Uid | Sequence[Uid],
        question: str | None = None,
        /,
        *,
        stream: str | None = None,
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
        sites: Sites | None = None,
        deadline: Duration | None = None,
        **query: Any,
    ) -> Pending[Answer]:
        """`estimate` without waiting."""
        fields = {
            **question_fields(synopses, question, stream, query),
            **span_of(end, span),
            **over(sites, deadline),
        }
        return self._connection.submit("estimate", fields, Answer.of)

    def watch(
        self,
        synopses: Uid | Sequence[Uid],
        question: str | None = None,
        /,
        *,
        every: Duration | None = None,
        on: str | None = None,
        by: float | str | None = None,
        when: str | None = None,
        stream: str | None = None,
        sites: Sites | None = None,
        deadline: Duration | None = None,
        drift: float | None = None,
        timeout: float | None = None,
        **query: Any,
    ) -> Watch:
        """Ask again and again: with sde.watch("trades", key="ann", every="1s") as answers: ...

        An answer comes `every` so often, or `on` "close" (of a window) or "change", then only
        when the value differs `by` 5 or "5%" from the last one. With `when` (">= 1000") answers
        come only when that becomes true or false. Iterating waits for an answer for ever, or
        `timeout` seconds. Should this call time out the watch may run all the same: the error's
        `request_id` is its id.

        Over `sites` it answers `every` so often. With `drift` a site is silent while it cannot
        have moved the value by more than that.
        """
        return self.submit_watch(
            synopses,
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
        ).result()

    def submit_watch(
        self,
        synopses: Uid | Sequence[Uid],
        question: str | None = None,
        /,
        *,
        every: Duration | None = None,
        on: str | None = None,
        by: float | str | None = None,
        when: str | None = None,
        stream: str | None = None,
        sites: Sites | None = None,
        deadline: Duration | None = None,
        drift: float | None = None,
        timeout: float | None = None,
        **query: Any,
    ) -> Pending[Watch]:
        """`watch` without waiting."""
        watch_id = uuid.uuid4().hex
        watch = self.watching(watch_id, timeout=timeout)  # before an answer can come
        fields: Message = {
            "id": watch_id,
            **question_fields(synopses, question, stream, query),
            "every": duration(every),
            "on": on,
            "threshold": by,
            "when": when,
            "drift": drift,
            **over(sites, deadline),
        }
        return self._connection.submit("watch", fields, lambda reply: watch)

    def watching(self, watch_id: str, /, *, timeout: float | None = None) -> Watch:
        """A watch that runs already, with its answers from now on; nothing is asked."""
        feed = self._connection.follow(watch_id)
        return Watch(watch_id, feed, timeout, self.unwatch, self._connection.trouble)

    def unwatch(self, watch_id: str, /) -> None:
        """End a watch, whoever began it."""
        self._connection.submit("unwatch", {"watch": watch_id}, _nothing).result()

    def sites(self, *, deadline: Duration | None = None) -> tuple[SiteInfo, ...]:
        """The sites the engine knows, itself among them, and whether they answer in time ("3s")."""

        def read(reply: Message) -> tuple[SiteInfo, ...]:
            return tuple(SiteInfo.of(each) for each in reply["value"])

        fields: Message = {"deadline": duration(deadline)}
        return self._connection.submit("sites", fields, read).result()

    # -- the end ------------------------------------------------------------------------------

    def close(self) -> None:
        """Deliver what was sent, then let go; requests in flight fail. Watches run on."""
        try:
            self._transport.close()
        finally:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _nothing(reply: Message) -> None:
    pass
