"""Talk to a running engine.

with Client() as sde:  # the engine that was started in this folder
    trades = sde.create("count_min", dataset="Forex", key="StockID", epsilon=0.01)
    sde.send("Forex", "EURUSD", {"StockID": "EURUSD", "price": 1.0712})
    sde.flush()
    print(trades.estimate(key="EURUSD"))
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Self, cast

from clients.address import transport_to
from clients.closed import ClosedTransport
from clients.connection import Connection
from clients.descriptions import Description, SiteInfo
from clients.errors import BadInput
from clients.fields import scope_of, site_names, text
from clients.handle import Scope, Sites, SynopsisHandle, Uid
from clients.kafka_config import KafkaSettings
from clients.kinds import fields_of_kinds
from clients.pending import Pending
from clients.plugin_requests import PluginRequests
from clients.question_requests import QuestionRequests
from clients.records import Records
from clients.sender import Sender
from clients.source_requests import SourceRequests
from clients.state_requests import StateRequests
from clients.suggestions import check_create, check_window
from clients.times import Duration, Seconds, Window, duration, seconds, window_of
from clients.transport import Message, Topics, Transport
from clients.waiting import waiting
from sde import wire


class Client(Sender, QuestionRequests, StateRequests, PluginRequests, SourceRequests):
    """Requests to an engine and tuples for it. May be used by several threads.

    `engine` is the address of its Kafka, the URL of its gateway (`http://HOST:PORT`), or a
    transport. Without it the engine is found as the
    commands find it: SDE_BOOTSTRAP_SERVERS in the environment, or the engine that was started in
    this folder (or whose data folder SDE_DATA_DIR names). A request waits `timeout` (seconds, or
    "1m") for its answer, if not told otherwise the seconds in SDE_TIMEOUT, or 10. The
    `submit_…` methods do not wait: thousands of requests can be in flight. `settings` go to
    librdkafka as they are: `settings={"security.protocol": "SSL"}`. `topics` are the names of the
    engine's topics where they are not the usual ones: `topics={"data": "shop-data"}`. A gateway
    may ask for a `token`; `ca_file` names the authority of its certificate.
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
        patience = _default_timeout() if timeout is None else seconds("timeout", timeout)
        transport = transport_to(engine, settings, topics, patience, token=token, ca_file=ca_file)
        super().__init__(transport)
        self._connection = Connection(self._transport, patience)

    def submit_create(
        self,
        kind: str,
        /,
        *,
        dataset: str,
        uid: Uid | None = None,
        key: str | Sequence[str] | None = None,
        value: str | Sequence[str] | None = None,
        where: str | None = None,
        scope: Scope = "dataset",
        window: Window | float | None = None,
        time: str | None = None,
        ttl: Duration | None = None,
        idle: Duration | None = None,
        reuse: bool = False,
        sites: Sites | None = None,
        deadline: Duration | None = None,
        **params: Any,
    ) -> Pending[SynopsisHandle]:
        """Create a synopsis of the fields `key` and `value`; `params` are those of its kind.

        With a list of fields as `key` these make the key together, and questions name it by a list
        of values. Only tuples that `where` is true of are counted: `where="qty > 0"`.

        `scope` is "dataset", "stream" (one for each stream) or {"stream": name}. With `reuse` a
        synopsis with the same definition serves, if there is one. It is deleted after `ttl`; at
        scope "stream", a stream without a tuple for as long as `idle` is forgotten. Durations are
        texts such as "5m", or timedeltas.

        `window="5m"` summarises window after window of that length; others are as on the wire, and
        have the type that a slide or a gap tells: {"size": "5m", "slide": "10s"}, {"gap": "30s"}.
        A number is the parameter of that name, which a few kinds have. `time` is the field that
        tells when a tuple happened, for kinds that read times; a window has a `time` of its own.

        `sites` are the names of the sites that shall have it, "*" all; each has to confirm it
        before the `deadline` ("5s").

        `create` waits until the synopsis is there; `submit_create` does not.
        """
        uid_text = f"{kind}-{uuid.uuid4().hex[:12]}" if uid is None else text(uid)
        if window is not None and not isinstance(window, Mapping | str | timedelta):
            params["window"], window = window, None
        if isinstance(window, Mapping):
            check_window(window)
        check_create(kind, params)
        request = wire.Create(
            uid=uid_text,
            dataset=dataset,
            kind=kind,
            params=params,
            key=key if key is None or isinstance(key, str) else [*key],
            value=value if value is None or isinstance(value, str) else [*value],
            where=where,
            scope=cast(Any, scope_of(scope)),  # the engine says what is wrong with a mapping
            window=cast(Any, None if window is None else window_of(window)),
            time=time,
            ttl=duration(ttl),
            idle=duration(idle),
            reuse=reuse,
            sites=site_names(sites),
            deadline=duration(deadline),
        )
        told = {"uid": uid_text, "kind": kind, "dataset": dataset}
        return self._connection.submit(request, lambda reply: self._handle_of({**told, **reply}))

    submit_create.__doc__ = f"{submit_create.__doc__}\n{fields_of_kinds()}"  # `help` tells them
    create = waiting(submit_create)

    def submit_delete(
        self, uid: Uid, /, *, sites: Sites | None = None, deadline: Duration | None = None
    ) -> Pending[None]:
        """End a synopsis, at the `sites` named too; each has to confirm it."""
        request = wire.Delete(uid=text(uid), sites=site_names(sites), deadline=duration(deadline))
        return self._connection.submit(request, lambda reply: None)

    delete = waiting(submit_delete)

    def submit_describe(self, uid: Uid, /, *, digest: bool = False) -> Pending[Description]:
        """The definition of a synopsis, and its figures; with its `digest` if it is large, too."""

        def read(reply: Message) -> Description:
            return Description.of({"uid": text(uid), **reply["value"]})

        return self._connection.submit(wire.Describe(uid=text(uid), digest=digest), read)

    describe = waiting(submit_describe)

    def submit_list(self, dataset: str | None = None) -> Pending[Records[Description]]:
        """All synopses, or those of one data set, in the order of their uids."""
        return self._connection.submit_pages(wire.ListAll(dataset=dataset), Description)

    list = waiting(submit_list)

    def synopsis(self, uid: Uid) -> SynopsisHandle:
        """A handle of a synopsis that exists already; nothing is asked."""
        return SynopsisHandle(text(uid), self)

    def _handle_of(self, reply: Message) -> SynopsisHandle:
        return SynopsisHandle(reply["uid"], self, reply.get("kind", ""), reply.get("dataset", ""))

    def submit_sites(self, *, deadline: Duration | None = None) -> Pending[Records[SiteInfo]]:
        """The sites the engine knows, itself among them, and whether they answer in time ("3s")."""
        return self._connection.submit_list(wire.Sites(deadline=duration(deadline)), SiteInfo)

    sites = waiting(submit_sites)

    def submit(self, op: str, /, **fields: Any) -> Pending[Message]:
        """Any request of the wire format, without waiting; its result is the whole reply."""
        return self._connection.submit_message({"op": op, **fields}, lambda reply: reply)

    def close(self) -> None:
        """Deliver what was sent, then let go; requests in flight fail. Watches run on."""
        transport, self._transport = self._transport, ClosedTransport()
        try:
            transport.close()
        finally:
            self._connection.close()

    def __repr__(self) -> str:
        return f"<Client: {self._transport!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _default_timeout() -> float:
    told = os.environ.get("SDE_TIMEOUT", "10")
    try:
        return seconds("SDE_TIMEOUT", float(told))
    except ValueError:
        raise BadInput(f"SDE_TIMEOUT={told!r}: expected a number of seconds") from None
