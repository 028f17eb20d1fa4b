"""What a client asks an engine about the content of synopses: once, or again and again."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from clients.answers import Answer
from clients.connection import Connection
from clients.descriptions import StreamInfo, WatchInfo
from clients.errors import BadInput
from clients.fields import question_fields, text
from clients.handle import Each, Occasion, Sites, Stream, Uid
from clients.pending import Pending
from clients.records import Records
from clients.times import Duration, Moment, Seconds, duration, seconds
from clients.waiting import waiting
from clients.watch import Watch
from sde import wire
from sde.wire.catalogue import columns_of


class QuestionRequests:
    """The part of `Client` that asks."""

    _connection: Connection

    def submit_estimate(
        self,
        synopses: Uid | Sequence[Uid],
        question: str | None = None,
        /,
        *,
        query: Mapping[str, Any] | None = None,
        stream: Stream | None = None,
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
        sites: Sites | None = None,
        deadline: Duration | None = None,
        **arguments: Any,
    ) -> Pending[Answer]:
        """Ask one synopsis, or several: `estimate(["a", "b"], "inner_product")`.

        Without `question` the kind's first question is meant. `arguments` are those of the
        question; `query` takes the ones whose names are taken here: `query={"stream": "s"}`.

        Of a windowed synopsis the open window answers, with `end` the one that closed there, with
        `span` all that is kept from one time to another. Times are milliseconds, ISO 8601 or
        datetimes, in UTC where they name no time zone.

        With `sites` (names, or "*" for all) the answer is about the tuples of all of them. Sites
        that do not answer before the `deadline` ("5s") are in `missing`.

        `estimate` waits for the answer; `submit_estimate` does not.
        """
        fields = question_fields(
            synopses,
            question,
            arguments,
            query=query,
            stream=stream,
            end=end,
            span=span,
            sites=sites,
            deadline=deadline,
        )
        if stream == wire.ALL_STREAMS:
            raise BadInput(f"stream={stream!r}: expected one stream; estimate_streams asks all")
        columns = columns_of(fields["query"].get("type"))
        return self._connection.submit(wire.Ask(**fields), lambda reply: Answer.of(reply, columns))

    estimate = waiting(submit_estimate)

    def submit_estimate_streams(
        self,
        uid: Uid,
        question: str | None = None,
        /,
        *,
        query: Mapping[str, Any] | None = None,
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
        top: int | None = None,
        **arguments: Any,
    ) -> Pending[Records[Answer]]:
        """Ask all streams of a synopsis of scope "stream": an answer for each, by `answer.stream`.

        They are in the order of the streams' names, fetched page by page. With `top` only that
        many come, the largest value first. A stream that has no value has None; `raw["warnings"]`
        tells why. What is asked is said as with `estimate`.
        """
        fields = question_fields(
            uid,
            question,
            arguments,
            query=query,
            stream=wire.ALL_STREAMS,
            end=end,
            span=span,
            sites=None,
            deadline=None,
        )
        request = wire.Ask(**fields, top=top)
        if top is not None:
            return self._connection.submit_list(request, Answer)
        return self._connection.submit_pages(request, Answer)

    estimate_streams = waiting(submit_estimate_streams)

    def submit_streams(self, uid: Uid, /) -> Pending[Records[StreamInfo]]:
        """The streams of a synopsis of scope "stream" with their figures, in the order of names."""
        return self._connection.submit_pages(wire.Streams(uid=text(uid)), StreamInfo)

    streams = waiting(submit_streams)

    def submit_watch(
        self,
        synopses: Uid | Sequence[Uid],
        question: str | None = None,
        /,
        *,
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
        """Ask again and again: `with sde.watch("trades", key="ann", every="1s") as answers: ...`.

        An answer comes `every` so often, or `on` "close" (of a window) or "change", then only
        when the value differs by the `threshold` (5 or "5%") from the last one. With `when`
        (">= 1000") answers come only when that becomes true or false. With `each` ("key" or
        "stream") every key, or stream, that had tuples is answered for: `answer.key`. What is
        asked is said as with `estimate`; an argument of the question called `threshold` goes into
        `query={"threshold": 0.9}`.

        Over `sites` it answers `every` so often. With `drift` a site is silent while it cannot
        have moved the value by more than that.

        Iterating waits for an answer for ever, or as long as `timeout` (seconds, or "1m"). `watch`
        waits until the engine has begun the watch, `submit_watch` does not. Should that time out
        the watch may run all the same: the error's `request_id` is its id.
        """
        fields = question_fields(
            synopses,
            question,
            arguments,
            query=query,
            stream=stream,
            end=end,
            span=span,
            sites=sites,
            deadline=deadline,
            of_watch=True,
        )
        watch_id = uuid.uuid4().hex
        request = wire.Watch(
            id=watch_id,
            every=duration(every),
            on=on,
            threshold=threshold,
            when=when,
            each=each,
            drift=drift,
            **fields,
        )
        columns = columns_of(fields["query"].get("type"))
        watch = self._following(watch_id, timeout, columns, runs=False)
        return self._connection.submit(request, lambda reply: watch)

    watch = waiting(submit_watch)

    def watching(self, watch_id: str, /, *, timeout: Seconds | None = None) -> Watch:
        """A watch that runs already, with its answers from now on; nothing is asked."""
        return self._following(watch_id, timeout, runs=True)

    def _following(
        self,
        watch_id: str,
        timeout: Seconds | None,
        columns: tuple[str, ...] = (),
        *,
        runs: bool,
    ) -> Watch:
        """The watch, which hears of answers from now on: before any can come."""
        patience = None if timeout is None else seconds("timeout", timeout)
        feed = self._connection.follow(watch_id, runs=runs)
        return Watch(watch_id, feed, patience, self.unwatch, self._connection.trouble, columns)

    def submit_unwatch(self, watch_id: str, /) -> Pending[None]:
        """End a watch, whoever began it."""
        return self._connection.submit(wire.Unwatch(watch=watch_id), lambda reply: None)

    unwatch = waiting(submit_unwatch)

    def submit_watches(
        self, uid: Uid | None = None, *, dataset: str | None = None
    ) -> Pending[Records[WatchInfo]]:
        """The watches that run, whoever began them: all, or those of a synopsis or a data set."""
        request = wire.Watches(uid=None if uid is None else text(uid), dataset=dataset)
        return self._connection.submit_pages(request, WatchInfo)

    watches = waiting(submit_watches)
