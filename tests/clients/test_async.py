"""The client in an event loop: the same engine, over both ways."""

import asyncio
import inspect
import threading
from contextlib import ExitStack, asynccontextmanager

import pytest

from clients import (
    AnswerTimeout,
    AsyncClient,
    AsyncSynopsisHandle,
    BadInput,
    BadParameter,
    Client,
    ClosedClient,
    InMemoryTransport,
    SynopsisHandle,
)
from sde.testing import LocalTransport
from service.http_settings import HttpSettings
from tests.service.gateway.conftest import Served

ROWS = [("EURUSD", {"trader": "ann"}), ("GBPUSD", {"trader": "bob"}), ("EURUSD", {"trader": "ann"})]


@pytest.fixture(params=["directly", "over http"])
def way(request):
    """What the engine hears, and where a client finds it."""
    if request.param == "directly":
        transport = LocalTransport()
        yield transport, transport
    else:
        with ExitStack() as stack:
            served = Served(HttpSettings(listen="127.0.0.1:0"), stack)
            yield served.transport, served.url


@asynccontextmanager
async def trades(engine):
    async with AsyncClient(engine, timeout=30) as sde:
        made = await sde.create("count_min", dataset="Forex", uid="trades", key="trader")
        assert await sde.send_many("Forex", ROWS) == 3
        yield sde, made


def test_it_has_the_methods_of_the_client_with_the_same_parameters():
    made_of = {Client: AsyncClient, SynopsisHandle: AsyncSynopsisHandle}
    for plain, other in made_of.items():
        names = {name for name in vars(other) if not name.startswith("_")}
        methods = {name for name in dir(plain) if not name.startswith(("_", "submit_"))}
        assert names == methods
        for name in methods - {"uid", "kind", "dataset"}:
            found, wanted = (inspect.signature(getattr(cls, name)) for cls in (other, plain))
            assert [*found.parameters] == [*wanted.parameters], name
            assert getattr(other, name).__doc__, name


def test_questions_are_asked_and_lists_read(way):
    async def ask():
        async with trades(way[1]) as (sde, made):
            asked = [made.estimate(key=key) for key in ("ann", "bob", "eve")]
            assert [each.value for each in await asyncio.gather(*asked)] == [2, 1, 0]
            assert (await sde.estimate(made, key="ann")).value == 2
            assert (await sde.estimate([made, "trades"], "inner_product")).value == 5
            assert [each.uid for each in await sde.list()] == ["trades"]
            assert (await made.describe()).tuples == 3
            assert (await sde.synopsis("trades").describe()).tuples == 3
            assert "count_min" in {kind.kind for kind in await sde.kinds()}
            copy = await sde.create("count_min", dataset="Other", key="trader")
            await copy.import_state(await made.export())
            assert (await copy.estimate(key="ann")).value == 2
            await copy.delete()
            assert repr(made) == "<async synopsis trades, count_min of Forex>"

    asyncio.run(ask())


def test_a_watch_is_iterated(way):
    transport, engine = way

    async def ask():
        async with trades(engine) as (sde, made):
            now = transport.engine.now
            async with made.watch(key="ann", every="1s", timeout=30) as answers:
                assert await answers.poll() is None
                for second in (1, 2, 3):
                    await asyncio.to_thread(transport.tick, now + 1000 * second)
                    assert (await anext(answers)).value == 2
            assert "unwatch" in answers.ended
            assert [answer async for answer in answers] == []
            assert await sde.watches() == ()
            opened = await sde.watch("trades", key="ann", every="1s")
            await sde.unwatch(opened.id)
            assert [answer.number async for answer in opened] == []

    asyncio.run(ask())


def test_a_watch_that_runs_is_followed_and_its_silence_told():
    transport = LocalTransport()

    async def ask():
        async with trades(transport) as (sde, _):
            answers = await sde.watching("somebody's", timeout=0.01)
            with pytest.raises(AnswerTimeout, match="somebody's"):
                await anext(answers)

    asyncio.run(ask())


def test_refusals_and_wrong_calls_are_those_of_the_client(way):
    async def ask():
        async with AsyncClient(way[1], timeout=30) as sde:
            with pytest.raises(BadParameter, match="epsilon"):
                await sde.create("count_min", dataset="d", key="k", epsilon=7)
            with pytest.raises(BadInput, match="describe: "):
                await sde.describe("u", digset=True)
            with pytest.raises(BadInput, match="row 1"):
                await sde.send_many("d", [("s", {"k": [1]})])
        with pytest.raises(ClosedClient):
            await sde.list()

    asyncio.run(ask())


def test_a_page_that_is_too_large_is_asked_for_in_smaller_ones():
    def engine(request):
        if request.get("limit", 5000) > 700:
            return {"status": "error", "code": "too_large", "message": "a smaller limit"}
        first = int(request.get("after", 0)) + 1
        more = {"next": str(first)} if first < 5 else {}
        return {"value": [{"uid": str(first)}], **more}

    async def ask():
        async with AsyncClient(InMemoryTransport(engine)) as sde:
            return await sde.list()

    assert [each.uid for each in asyncio.run(ask())] == ["1", "2", "3", "4", "5"]


def test_thousands_of_requests_are_in_flight_and_the_loop_runs_on():
    release = threading.Event()

    class Slow(InMemoryTransport):
        """Waits at first, as one does that finds no Kafka."""

        def listen(self, on_reply):
            release.wait(20)
            super().listen(on_reply)

    async def ask():
        async with AsyncClient(Slow(lambda request: {"value": request["uid"]})) as sde:
            asked = asyncio.gather(*(sde.estimate(f"u{n}") for n in range(2000)))
            await asyncio.sleep(0.05)  # this would not end if the loop were blocked
            release.set()
            return await asked

    assert [answer.value for answer in asyncio.run(ask())] == [f"u{n}" for n in range(2000)]


def test_silence_is_a_timeout_and_a_question_can_be_given_up():
    async def ask():
        async with AsyncClient(InMemoryTransport(lambda request: None), timeout=0.05) as sde:
            with pytest.raises(AnswerTimeout, match=r"within 0\.05 s"):
                await sde.list()
        async with AsyncClient(InMemoryTransport(lambda request: None), timeout=60) as sde:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(sde.list(), 0.05)

    asyncio.run(ask())
