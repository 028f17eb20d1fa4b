"""The half of a client that sends tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from clients.errors import BadInput
from clients.files import Piece, read_pieces
from clients.lanes import lane_of
from clients.tables import encode_frames
from clients.transport import Transport
from clients.tuples import Row, Time, encode_lines, encode_tuple, stream_name

Progress = Callable[[int, float], None]


class Sender:
    """The part of `Client` that sends tuples."""

    def __init__(self, transport: Transport) -> None:
        self._transport: Transport = transport

    def send(
        self, dataset: str, stream: str | int, values: Mapping[str, Any], time: Time = None
    ) -> None:
        """Send one tuple, without waiting. Call `flush` before a question that must see it.

        Values are numbers, texts, truth values, times or None, which counts as missing; nested
        ones are refused. Times are milliseconds since 1970 or datetimes, in UTC where they name no
        time zone. The tuples of one stream keep their order, in whatever ways they are sent.
        """
        payload = encode_tuple(dataset, stream, values, time)
        lane = lane_of(dataset, stream_name(stream), self._transport.lanes)
        self._transport.send_data(payload, lane=lane)

    def send_many(self, dataset: str, rows: Iterable[Row]) -> int:
        """Send (stream, values) or (stream, values, time), or mappings of these names.

        Returns the number of tuples, once all are delivered.
        """
        numbered = enumerate(rows, start=1)
        return self._send_all([(encode_lines(dataset, numbered, self._transport.lanes), 1.0)])

    def send_table(
        self, dataset: str, table: Any, *, stream: str = "stream", time: str | None = None
    ) -> int:
        """Send a pandas DataFrame or an Arrow table, fast; each row is a tuple.

        `stream` and `time` name columns; every column is a field, and so is every named level of a
        DataFrame's index. Without `time`, a column of that name is meant, if there is one.
        Returns the number of tuples, all delivered.
        """
        lanes = self._transport.lanes
        frames = encode_frames(table, dataset=dataset, stream=stream, time=time, lanes=lanes)
        return self._send_all([(frames, 1.0)])

    def send_file(
        self,
        dataset: str,
        path: str | Path | BinaryIO,
        *,
        stream: str = "stream",
        time: str | None = None,
        progress: Progress = lambda tuples, share: None,
    ) -> int:
        """Send a CSV, TSV or Parquet file as `send_table` would, or lines of JSON objects.

        An object has the fields of a tuple (`stream` and `time` name those that tell stream and
        time), or is `{"stream": ..., "values": {...}, "time": ...}`. An open binary file, such as
        `sys.stdin.buffer`, holds such lines or CSV. `progress` is called with the number of tuples
        sent and the share of the file they are.
        """
        lanes = self._transport.lanes
        pieces = read_pieces(path, dataset=dataset, stream=stream, time=time, lanes=lanes)
        return self._send_all(pieces, progress)

    def flush(self) -> None:
        """Return when all tuples sent are with the broker; DeliveryFailed if some are not."""
        self._transport.flush()

    def _send_all(
        self, pieces: Iterable[Piece], progress: Progress = lambda tuples, share: None
    ) -> int:
        """Send the messages of all pieces; the number of their tuples, once all are delivered."""
        sent = 0
        try:
            for parcels, share in pieces:
                for parcel in parcels:
                    self._transport.send_data(parcel.payload, lane=parcel.lane)
                    sent += parcel.tuples
                progress(sent, share)
        except BadInput as error:
            if not sent:
                raise
            self.flush()
            raise BadInput(f"{error}; {sent:,} tuples had been sent before") from error
        self.flush()
        return sent
