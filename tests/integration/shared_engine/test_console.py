"""The console before a real engine, with its files, its dead letters and its answers."""

import httpx
import pytest
from confluent_kafka import Producer

from tests.service.gateway.console import browsing

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not (browsing.BROWSER and browsing.DRIVER),
        reason=browsing.WHY_NOT,
    ),
]


def newest_letter(engine):
    url = f"{engine.http}/v1/dead-letters?code=bad_json&limit=1"
    return "".join(letter["text"] for letter in httpx.get(url).json()["value"])


def test_the_console_shows_a_real_engine(engine):
    with engine.client() as sde, browsing.browser() as window:
        sde.create("count_min", dataset="Console", uid="console-trades", key="trader")
        sde.send_many("Console", [("s", {"trader": "ann"})] * 5)
        assert sde.estimate("console-trades", key="ann").value == 5
        window.open(engine.http)
        window.sees("running", "dl.figures")
        window.open(engine.http, "ask?uid=console-trades&a.key=ann")
        window.press("Watch")
        window.wait(lambda: window.all("polygon.band"))
        window.press("Ask")
        window.sees("5", ".answer strong")
        window.open(engine.http, "batches")
        window.wait(lambda: window.all("rect.phase-3"))
        producer = Producer({"bootstrap.servers": engine.process.bootstrap_servers})
        producer.produce("sde-data", b"{console")
        producer.flush()
        window.wait(lambda: newest_letter(engine) == "{console")
        window.open(engine.http, "dead-letters?code=bad_json")
        window.find("summary").click()
        window.sees("{console")
        assert window.complaints() == []
        sde.delete("console-trades")
