"""The demo's market: its tuples, and its exact answers against the obvious way to get them."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from clients import Client, InMemoryTransport
from clients.demo_data import WINDOW_SECONDS, Market
from clients.tuples import decode


@pytest.fixture(scope="module")
def market() -> Market:
    return Market(stocks=12, ticks=150)


@pytest.fixture(scope="module")
def rows(market) -> list[dict]:
    return pa.concat_tables(market.tables()).to_pylist()


def test_every_stock_trades_every_second(market, rows) -> None:
    assert len(rows) == market.tuples == 12 * 150
    seconds = {row["time"] // 1000 for row in rows}
    assert Counter(row["stream"] for row in rows) == dict.fromkeys(market.names, 150)
    assert seconds == set(range(min(seconds), min(seconds) + 150))


def test_the_busiest_and_the_largest_trader_are_counted_right(market, rows) -> None:
    for stock in market.names:
        trades = Counter(row["trader"] for row in rows if row["stream"] == stock)
        trader, count = market.busiest_trader(stock)
        assert trades[trader] == count == max(trades.values())
    volumes: Counter[str] = Counter()
    for row in rows:
        volumes[row["trader"]] += row["volume"]
    trader, volume = market.largest_trader()
    assert volumes[trader] == volume == max(volumes.values())


def test_distinct_traders_and_their_self_join_size_are_counted_right(market, rows) -> None:
    trades = Counter(row["trader"] for row in rows)
    assert market.distinct_traders() == len(trades)
    assert market.f2() == sum(count**2 for count in trades.values())


def test_correlated_pairs_are_those_of_the_last_whole_window(market, rows) -> None:
    # A basic window of 16 s is over when a later tuple has come: 150 ticks close the first 144.
    last = rows[0]["time"] + 144_000
    first = last - 1000 * WINDOW_SECONDS
    prices = {
        stock: [r["price"] for r in rows if r["stream"] == stock and first <= r["time"] < last]
        for stock in market.names
    }
    assert {len(series) for series in prices.values()} == {WINDOW_SECONDS}
    expected = {
        (a, b)
        for a in market.names
        for b in market.names
        if a < b and np.corrcoef(prices[a], prices[b])[0, 1] >= 0.9
    }
    assert market.correlated_pairs(0.9) == expected
    assert 0 < len(expected) < 66  # of all pairs


def test_the_market_arrives_whole_and_each_stock_in_the_order_of_time(market, rows) -> None:
    transport = InMemoryTransport(lanes=4)
    sde = Client(transport)
    for table in market.tables():
        sde.send_table("stocks", table)
    times: dict[tuple[int, str], list[int]] = {}
    for lane, payloads in enumerate(transport.data_of_lane):
        for one in (one for payload in payloads for one in decode(payload)):
            times.setdefault((lane, one["stream"]), []).append(one["time"])
    assert len(times) == market.stocks
    assert all(series == sorted({r["time"] for r in rows}) for series in times.values())
