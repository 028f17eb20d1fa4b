"""A stream always travels in the same lane."""

import itertools

import pyarrow as pa
import pytest

from clients import Client, InMemoryTransport
from clients.lanes import lane_of
from clients.tables import ROWS_A_FRAME
from clients.tuples import LINES_A_MESSAGE, decode


def numbers_of_streams(payloads) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for one in (one for payload in payloads for one in decode(payload)):
        found.setdefault(one["stream"], []).append(one["values"]["n"])
    return found


@pytest.mark.parametrize("lanes", [1, 2, 5])
def test_bulk_and_single_tuples_of_a_stream_share_a_lane_and_keep_their_order(lanes) -> None:
    transport = InMemoryTransport(lanes=lanes)
    sde = Client(transport)
    streams = [f"Größe {n * n % 101}" for n in range(9000)]
    table = pa.table({"stream": streams[:6000], "n": range(6000)})
    chunked = pa.concat_tables([table.slice(0, 2500), table.slice(2500)])
    assert sde.send_table("d", chunked) == 6000
    for n in range(6000, 6100):
        sde.send("d", streams[n], {"n": n})
    assert sde.send_many("d", ((streams[n], {"n": n}) for n in range(6100, 9000))) == 2900
    expected: dict[str, list[int]] = {}
    for n, stream in enumerate(streams):
        expected.setdefault(stream, []).append(n)
    for lane, payloads in enumerate(transport.data_of_lane):
        here = {s: numbers for s, numbers in expected.items() if lane_of("d", s, lanes) == lane}
        assert numbers_of_streams(payloads) == here


def test_the_lane_of_a_stream_never_changes() -> None:
    # Clients of different versions write to one topic: a stream in two lanes has no order.
    assert [lane_of("Forex", s, 4) for s in ("EURUSD", "USDJPY", "GBPUSD", "é")] == [3, 0, 1, 3]


def test_a_table_becomes_one_large_frame_a_lane() -> None:
    transport = InMemoryTransport(lanes=4)
    table = pa.table({"stream": [f"s{n % 1000}" for n in range(50_000)], "n": range(50_000)})
    Client(transport).send_table("d", table)
    assert [len(payloads) for payloads in transport.data_of_lane] == [1, 1, 1, 1]


def test_lanes_advance_side_by_side_through_a_long_table() -> None:
    transport = InMemoryTransport(lanes=4)
    n = 1_000_000
    table = pa.table({"stream": [f"s{i % 50}" for i in range(n)], "n": range(n)})
    Client(transport).send_table("d", table)
    starts = [pa.ipc.open_stream(each).read_all()["n"][0].as_py() for each in transport.data]
    furthest = itertools.accumulate(starts, max)
    lags = [far - start for far, start in zip(furthest, starts, strict=True)]
    assert max(lags) < 4 * ROWS_A_FRAME
    assert len(starts) < 2 * n / ROWS_A_FRAME


def test_a_rare_stream_does_not_wait_for_the_end_of_a_long_bulk() -> None:
    transport = InMemoryTransport(lanes=3)
    rare = lane_of("d", "rare", 3)
    assert rare != lane_of("d", "often", 3)
    sent = []

    def rows():
        yield "rare", {"n": 0}
        for n in range(5 * LINES_A_MESSAGE):
            yield "often", {"n": n}
            sent.append(bool(transport.data_of_lane[rare]))

    Client(transport).send_many("d", rows())
    assert sent.index(True) <= 3 * LINES_A_MESSAGE
