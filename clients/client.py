"""Talk to a running engine.

with Client("localhost:9092") as sde:
    trades = sde.create("count_min", dataset="Forex", key="StockID", epsilon=0.01)
    sde.send("Forex", "EURUSD", {"StockID": "EURUSD", "price": 1.0712})
    sde.flush()
    print(trades.estimate(key="EURUSD"))
"""

from __future__ import annotations

import base64
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from clients.answers import Answer, Description
from clients.errors import BadInput, ClientError, TransportError
from clients.files import read_tables
from clients.handle import ExportFormat, SynopsisHandle
from clients.kafka import KafkaTransport
from clients.lanes import Parcel, lane_of
from clients.pending import Mailbox, Pending, T
from clients.tables import encode_frames
from clients.transport import Message, Transport
from clients.tuples import Row, Time, encode_lines, encode_tuple

Uid = str | int | SynopsisHandle
Progress = Callable[[int, float], None]


class Client:
    """Requests to an engine and tuples for it. May be used by several threads.

    `engine` is the address of its Kafka, or a transport. A request waits `timeout` seconds for
    its answer. The `submit_…` methods do not wait: thousands of requests can be in flight.
    """

    def __init__(self, engine: str | Transport, *, timeout: float = 10.0) -> None:
        self._transport = KafkaTransport(engine) if isinstance(engine, str) else engine
        self._timeout = timeout
        self._mailbox = Mailbox()
        self._listening = False
        self._lock = threading.Lock()

    # -- requests -----------------------------------------------------------------------------

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
        reuse: bool = False,
        **params: Any,
    ) -> SynopsisHandle:
        """Create a synopsis of the fields `key` and `value`; `params` are those of its kind.

        `scope` is "dataset", "stream" (one for each stream) or {"stream": name}. With `reuse` a
        synopsis with the same definition serves, if there is one.
        """
        return self.submit_create(
            kind,
            dataset=dataset,
            uid=uid,
            key=key,
            value=value,
            scope=scope,
            reuse=reuse,
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
        reuse: bool = False,
        **params: Any,
    ) -> Pending[SynopsisHandle]:
        """`create` without waiting."""
        named = f"{kind}-{uuid.uuid4().hex[:12]}" if uid is None else _text(uid)
        fields: Message = {
            "uid": named,
            "dataset": dataset,
            "kind": kind,
            "params": params,
            "key": key,
            "value": list(value) if value is not None and not isinstance(value, str) else value,
            "scope": scope,
            "reuse": reuse or None,
        }
        return self._submit("create", fields, lambda reply: self.synopsis(reply.get("uid", named)))

    def estimate(
        self,
        synopses: Uid | Sequence[Uid],
        question: str | None = None,
        /,
        *,
        stream: str | None = None,
        **query: Any,
    ) -> Answer:
        """Ask one synopsis, or several: `estimate(["a", "b"], "inner_product")`.

        Without `question` the kind's first question is meant.
        """
        return self.submit_estimate(synopses, question, stream=stream, **query).result()

    def submit_estimate(
        self,
        synopses: Uid | Sequence[Uid],
        question: str | None = None,
        /,
        *,
        stream: str | None = None,
        **query: Any,
    ) -> Pending[Answer]:
        """`estimate` without waiting."""
        one = isinstance(synopses, str | int | SynopsisHandle)
        uids = [_text(synopses)] if one else [_text(uid) for uid in synopses]  # type: ignore
        asked = query if question is None else {"type": question, **query}
        fields: Message = {
            **({"uid": uids[0]} if len(uids) == 1 else {"uids": uids}),
            "query": asked,
            "stream": stream,
        }
        return self._submit("estimate", fields, Answer.of)

    def export(
        self, uid: Uid, /, *, stream: str | None = None, format: ExportFormat = "native"
    ) -> bytes:
        """The state of a synopsis: `synopses` reads the native form, Apache DataSketches its own.

        `stream` names the one meant where a synopsis has a summary for each.
        """
        fields: Message = {"uid": _text(uid), "stream": stream, "format": format}
        return self._submit("export", fields, lambda r: base64.b64decode(r["value"])).result()

    def delete(self, uid: Uid, /) -> None:
        self._submit("delete", {"uid": _text(uid)}, lambda reply: None).result()

    def describe(self, uid: Uid, /) -> Description:
        def read(reply: Message) -> Description:
            return Description.of({"uid": _text(uid), **reply["value"]})

        return self._submit("describe", {"uid": _text(uid)}, read).result()

    def list(self, dataset: str | None = None) -> tuple[Description, ...]:
        """All synopses, or those of one data set."""

        def read(reply: Message) -> tuple[Description, ...]:
            return tuple(Description.of(each) for each in reply["value"])

        return self._submit("list", {"dataset": dataset}, read).result()

    def synopsis(self, uid: Uid) -> SynopsisHandle:
        """A handle of a synopsis that exists already; nothing is asked."""
        return SynopsisHandle(_text(uid), self)

    def submit(self, op: str, /, **fields: Any) -> Pending[Message]:
        """Any request of the wire format, without waiting; its result is the whole reply."""
        return self._submit(op, fields, lambda reply: reply)

    def _submit(self, op: str, fields: Message, read: Callable[[Message], T]) -> Pending[T]:
        self._listen()
        named = {name: value for name, value in fields.items() if value is not None}
        request = {"id": uuid.uuid4().hex, "op": op, **named}
        request_id = request["id"]

        def on_timeout() -> str:
            self._mailbox.forget(request_id)
            return self._transport.trouble()

        future = self._mailbox.expect(request_id)
        try:
            self._transport.send_request(
                request, lambda error: self._mailbox.fail(request_id, error)
            )
        except ClientError:
            self._mailbox.forget(request_id)
            raise
        return Pending(request, future, read, self._timeout, on_timeout)

    def _listen(self) -> None:
        with self._lock:
            if not self._listening:
                self._transport.listen(self._mailbox.deliver)
                self._listening = True

    # -- tuples -------------------------------------------------------------------------------

    def send(self, dataset: str, stream: str, values: Mapping[str, Any], time: Time = None) -> None:
        """Send one tuple, without waiting. Call `flush` before a question that must see it.

        The tuples of one stream keep their order, in whatever ways they are sent.
        """
        payload = encode_tuple(dataset, stream, values, time)
        self._transport.send_data(payload, lane=lane_of(dataset, stream, self._transport.lanes))

    def send_many(self, dataset: str, rows: Iterable[Row]) -> int:
        """Send (stream, values) or (stream, values, time), or mappings of these names.

        Returns the number of tuples, once all are delivered.
        """
        sent = sum(map(self._send_parcel, encode_lines(dataset, rows, self._transport.lanes)))
        self.flush()
        return sent

    def send_table(
        self, table: Any, *, dataset: str, stream: str = "stream", time: str | None = None
    ) -> int:
        """Send a pandas DataFrame or an Arrow table, fast; each row is a tuple.

        `stream` and `time` name columns; every column is a field. Without `time`, a column of
        that name is meant, if there is one. Returns the number of tuples, all delivered.
        """
        lanes = self._transport.lanes
        frames = encode_frames(table, dataset=dataset, stream=stream, time=time, lanes=lanes)
        sent = sum(map(self._send_parcel, frames))
        self.flush()
        return sent

    def send_file(
        self,
        path: str | Path,
        *,
        dataset: str,
        stream: str = "stream",
        time: str | None = None,
        progress: Progress = lambda tuples, share: None,
    ) -> int:
        """Send a CSV, TSV or Parquet file as `send_table` would.

        `progress` is told the number of tuples sent and the share of the file they are.
        """
        sent = 0
        lanes = self._transport.lanes
        try:
            for table, share in read_tables(path):
                for parcel in encode_frames(
                    table, dataset=dataset, stream=stream, time=time, lanes=lanes
                ):
                    sent += self._send_parcel(parcel)
                progress(sent, share)
        except BadInput as error:
            if not sent:
                raise
            self.flush()
            raise BadInput(f"{error}; {sent} tuples had been sent before") from error
        self.flush()
        return sent

    def flush(self) -> None:
        """Return when all tuples sent are with the broker; DeliveryFailed if some are not."""
        self._transport.flush()

    def _send_parcel(self, parcel: Parcel) -> int:
        self._transport.send_data(parcel.payload, lane=parcel.lane)
        return parcel.tuples

    # -- the end ------------------------------------------------------------------------------

    def close(self) -> None:
        """Deliver what was sent, then let go; requests in flight fail."""
        try:
            self._transport.close()
        finally:
            self._mailbox.fail_all(TransportError("the client was closed"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _text(uid: Uid) -> str:
    return uid.uid if isinstance(uid, SynopsisHandle) else str(uid)
