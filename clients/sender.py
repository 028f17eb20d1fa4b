"""The half of a client that sends tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from clients.errors import BadInput
from clients.files import read_tables
from clients.lanes import Parcel, lane_of
from clients.tables import encode_frames
from clients.transport import Transport
from clients.tuples import Row, Time, encode_lines, encode_tuple

Progress = Callable[[int, float], None]


class Sender:
    """The part of `Client` that sends tuples."""

    def __init__(self, transport: Transport) -> None:
        self._transport: Transport = transport

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
        self, dataset: str, table: Any, *, stream: str = "stream", time: str | None = None
    ) -> int:
        """Send a pandas DataFrame or an Arrow table, fast; each row is a tuple.

        `stream` and `time` name columns; every column is a field. Without `time`, a column of
        that name is meant, if there is one. Returns the number of tuples, all delivered.
        """
        sent = sum(map(self._send_parcel, self._frames(dataset, table, stream, time)))
        self.flush()
        return sent

    def send_file(
        self,
        dataset: str,
        path: str | Path,
        *,
        stream: str = "stream",
        time: str | None = None,
        progress: Progress = lambda tuples, share: None,
    ) -> int:
        """Send a CSV, TSV or Parquet file as `send_table` would.

        `progress` is called with the number of tuples sent and the share of the file they are.
        """
        sent = 0
        try:
            for table, share in read_tables(path):
                for frame in self._frames(dataset, table, stream, time):
                    sent += self._send_parcel(frame)
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

    def _frames(self, dataset: str, table: Any, stream: str, time: str | None) -> Iterator[Parcel]:
        lanes = self._transport.lanes
        return encode_frames(table, dataset=dataset, stream=stream, time=time, lanes=lanes)

    def _send_parcel(self, parcel: Parcel) -> int:
        self._transport.send_data(parcel.payload, lane=parcel.lane)
        return parcel.tuples
