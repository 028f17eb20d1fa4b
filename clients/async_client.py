"""Talk to a running engine from an event loop.

async with AsyncClient() as sde:
    trades = await sde.create("count_min", dataset="Forex", key="trader")
    print(await trades.estimate(key="ann"))
    async with trades.watch(key="ann", every="1s") as answers:
        async for answer in answers:
            print(answer.value)
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Self

from clients.async_watch import AsyncWatch, Opening, opening
from clients.awaiting import Awaited, Threads, awaited, sending
from clients.client import Client
from clients.handle import SynopsisHandle, Uid
from clients.kafka_config import KafkaSettings
from clients.times import Seconds
from clients.transport import Topics, Transport
from clients.watch import Watch


class AsyncSynopsisHandle(Awaited[SynopsisHandle]):
    """A synopsis that lives in the engine: the methods of `SynopsisHandle` as coroutines."""

    @property
    def uid(self) -> str:
        return self._plain.uid

    @property
    def kind(self) -> str:
        """Its kind; "" if it was not created here."""
        return self._plain.kind

    @property
    def dataset(self) -> str:
        """Its data set; "" if it was not created here."""
        return self._plain.dataset

    delete = awaited(SynopsisHandle.submit_delete)
    describe = awaited(SynopsisHandle.submit_describe)
    estimate = awaited(SynopsisHandle.submit_estimate)
    estimate_streams = awaited(SynopsisHandle.submit_estimate_streams)
    export = awaited(SynopsisHandle.submit_export)
    import_state = awaited(SynopsisHandle.submit_import_state)
    restore = awaited(
        SynopsisHandle.submit_restore,
        lambda handle, threads: AsyncSynopsisHandle(handle, threads),  # not defined yet
    )
    snapshot = awaited(SynopsisHandle.submit_snapshot)
    snapshots = awaited(SynopsisHandle.submit_snapshots)
    streams = awaited(SynopsisHandle.submit_streams)
    watch = opening(SynopsisHandle.submit_watch)
    watches = awaited(SynopsisHandle.submit_watches)


class AsyncClient(Awaited[Client]):
    """The methods of `Client` as coroutines, over Kafka and HTTP alike; its arguments are the same.

    Thousands of requests can be in flight: `await asyncio.gather(...)`. No method blocks the event
    loop. It belongs to one event loop.
    """

    def __init__(
        self,
        engine: str | Transport | None = None,
        *,
        timeout: Seconds | None = None,
        settings: KafkaSettings | None = None,
        topics: Topics | Mapping[str, str] | None = None,
        token: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
    ) -> None:
        client = Client(
            engine,
            timeout=timeout,
            settings=settings,
            topics=topics,
            token=token,
            ca_file=ca_file,
        )
        super().__init__(client, Threads())

    add_plugin = awaited(Client.submit_add_plugin)
    add_source = awaited(Client.submit_add_source)
    create = awaited(Client.submit_create, AsyncSynopsisHandle)
    delete = awaited(Client.submit_delete)
    describe = awaited(Client.submit_describe)
    estimate = awaited(Client.submit_estimate)
    estimate_streams = awaited(Client.submit_estimate_streams)
    export = awaited(Client.submit_export)
    flush = sending(Client.flush)
    import_state = awaited(Client.submit_import_state)
    kinds = awaited(Client.submit_kinds)
    list = awaited(Client.submit_list)
    plugins = awaited(Client.submit_plugins)
    preview_source = awaited(Client.submit_preview_source)
    release_plugin = awaited(Client.submit_release_plugin)
    remove_plugin = awaited(Client.submit_remove_plugin)
    remove_snapshot = awaited(Client.submit_remove_snapshot)
    remove_source = awaited(Client.submit_remove_source)
    restore = awaited(Client.submit_restore, AsyncSynopsisHandle)
    send = sending(Client.send)
    send_file = sending(Client.send_file)
    send_many = sending(Client.send_many)
    send_table = sending(Client.send_table)
    sites = awaited(Client.submit_sites)
    snapshot = awaited(Client.submit_snapshot)
    snapshots = awaited(Client.submit_snapshots)
    sources = awaited(Client.submit_sources)
    streams = awaited(Client.submit_streams)
    submit = awaited(Client.submit)
    unwatch = awaited(Client.submit_unwatch)
    watch = opening(Client.submit_watch)
    watches = awaited(Client.submit_watches)

    def synopsis(self, uid: Uid) -> AsyncSynopsisHandle:
        """A handle of a synopsis that exists already; nothing is asked."""
        return AsyncSynopsisHandle(self._plain.synopsis(uid), self._threads)

    def watching(self, watch_id: str, /, *, timeout: Seconds | None = None) -> Opening:
        """A watch that runs already, with its answers from now on."""
        return Opening(self._watching(watch_id, timeout))

    async def _watching(self, watch_id: str, timeout: Seconds | None) -> AsyncWatch:
        def follow() -> Watch:
            return self._plain.watching(watch_id, timeout=timeout)

        return AsyncWatch(await self._threads.run(self._threads.asks, follow), self._threads)

    async def close(self) -> None:
        """Deliver what was sent, then let go; requests in flight fail. Watches run on."""
        try:
            await asyncio.to_thread(self._plain.close)
        finally:
            self._threads.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
