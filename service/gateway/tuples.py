"""Tuples in the body of a request: read part by part in a thread, on their way before its end."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

from starlette.responses import Response

from clients.errors import BadInput, ClientError
from clients.files import Form, Piece, read_pieces
from clients.lines import row_of_object
from clients.transport import Transport
from clients.tuples import Row, encode_lines
from sde.wire import Code
from sde.wire.forms import LONGEST_NAME
from service.gateway.bodies import Body, BodyFile, media_type, read_json
from service.gateway.call import Call, respond
from service.gateway.datasets import check_dataset
from service.gateway.problems import BUSY, WRONG_TYPE, Problem, problem_of_error

_JSON = "application/json"
FORMS: dict[str, Form] = {
    "application/x-ndjson": "lines",
    "text/csv": "csv",
    "application/vnd.apache.arrow.stream": "arrow",
}
FIELDS = ("stream", "time")  # that the query may name
_BUFFER = 1 << 18  # bytes
_PiecesOfLanes = Callable[[int], Iterator[Piece]]  # made when it is known how many lanes there are


async def take_tuples(call: Call) -> Response:
    """Reply with the number of tuples once the broker has them all.

    A body that is wrong somewhere was sent up to there: `sent` of the problem says how much.
    """
    upload = _Upload(call)
    found = media_type(call.http)
    if found == _JSON:
        items = await read_json(call.http, call.settings)
        if not isinstance(items, list):
            raise Problem(400, Code.BAD_JSON, "the body: expected a list of objects")
        await upload.run(lambda lanes: upload.pieces_of_list(items, lanes))
    elif found in FORMS:
        body = Body(call.http, call.settings, call.settings.tuples_bytes)
        parts = BodyFile(body, asyncio.get_running_loop())
        file = cast(BinaryIO, io.BufferedReader(parts, _BUFFER))
        await upload.run(lambda lanes: upload.pieces_of_file(file, FORMS[found], lanes))
    else:
        expected = ", ".join([_JSON, *FORMS])
        raise Problem(415, WRONG_TYPE, f"content-type={found!r}: expected one of {expected}")
    return respond({"tuples": upload.sent})


class _Upload:
    """The tuples of one body. `stream` and `time` of the query name the fields that tell these."""

    def __init__(self, call: Call) -> None:
        self.sent = 0
        self._call, self._door = call, call.door
        self._patience = call.settings.answer_seconds
        self._dataset = call.path["dataset"]
        query = call.http.query_params
        self._stream, self._time = query.get("stream", "stream"), query.get("time")
        if len(self._dataset) > LONGEST_NAME:
            detail = f"dataset: expected a text of 1 to {LONGEST_NAME} characters"
            raise Problem(422, Code.BAD_REQUEST, detail, "dataset")
        for name in query.keys() - set(FIELDS):
            detail = f"unknown field {name!r:.80}: expected only stream, time"
            raise Problem(422, Code.BAD_REQUEST, detail, name[:80])
        check_dataset(call, self._dataset)

    async def run(self, pieces: _PiecesOfLanes) -> None:
        """Send them all; Problem says what was sent, if not all was."""
        try:
            async with self._door.data(self._patience) as way:
                loop = asyncio.get_running_loop()
                work = loop.run_in_executor(self._door.readers, self._send, way.transport, pieces)
                try:
                    await asyncio.shield(work)
                finally:
                    self._call.position = way.take_position()
        except ClientError as error:
            problem = problem_of_error(error)
        except TimeoutError:
            problem = Problem(503, BUSY, "too many bodies with tuples come at the same time")
        except Problem as error:
            problem = error
        else:
            return
        problem.more["sent"] = self.sent
        problem.headers |= self._call.position_header
        raise problem

    def _send(self, transport: Transport, pieces: _PiecesOfLanes) -> None:
        """In a thread; sending waits while the broker is behind, and so does the body."""
        try:
            for parcels, _ in pieces(transport.lanes):
                for parcel in parcels:
                    transport.send_data(parcel.payload, lane=parcel.lane)
                    self.sent += parcel.tuples
        finally:
            transport.flush()

    def pieces_of_file(self, file: BinaryIO, form: Form, lanes: int) -> Iterator[Piece]:
        return read_pieces(
            file,
            dataset=self._dataset,
            stream=self._stream,
            time=self._time,
            lanes=lanes,
            form=form,
            name="the body",
        )

    def pieces_of_list(self, items: list[object], lanes: int) -> Iterator[Piece]:
        def rows() -> Iterator[tuple[int, Row]]:
            for number, item in enumerate(items, start=1):
                try:
                    row = row_of_object(
                        item, dataset=self._dataset, stream=self._stream, time=self._time
                    )
                except BadInput as error:
                    raise BadInput(f"the body, row {number}: {error}") from error
                yield number, row

        yield encode_lines(self._dataset, rows(), lanes, "the body, row", finish=True), 1.0
