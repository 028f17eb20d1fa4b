"""Merge's hand in requests of several sites: contributions go out, one reply comes of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

from sde.federation.contribution import contribution
from sde.federation.frames import Content
from sde.federation.peers import Peers
from sde.federation.replies import Refused, reply_fields
from sde.federation.request import Asked, asked_of, request_to_peer, wanted_of
from sde.federation.sending import Sender
from sde.plugins.failure import PluginFailure
from sde.records.arrived import Arrived
from sde.records.outgoing import Outgoing, to_loop, written
from sde.records.partial import Partial
from sde.requests.changing import internal
from sde.requests.gathered import WindowsDiffer
from sde.wire import Code, Fault, Refusal, Unwatch, answer, decode_request, refusal
from sde.wire.loop import Again

_log = logging.getLogger(__name__)


class SitesMerge:
    """`failed` is told of plug-ins that misbehave, and says what their users are told."""

    def __init__(
        self, peers: Peers, checkpoint: str, failed: Callable[[PluginFailure], Fault]
    ) -> None:
        self._peers, self._checkpoint, self._failed = peers, checkpoint, failed
        self._sender = Sender(peers)

    def contribute(self, partials: list[Partial]) -> Iterator[Outgoing]:
        """What this site gives to a request of several sites, and what the others are asked for."""
        arrived = partials[0].arrived
        assert arrived.message is not None
        try:
            request = decode_request(arrived.message, arrived.place)
            content = contribution(request, partials)
        except Refusal as refused:
            content = Content({"fault": asdict(refused.fault)})
        except PluginFailure as failure:
            content = Content({"fault": asdict(self._failed(failure))})
        except WindowsDiffer as differ:
            yield to_loop(Again(_once(arrived).as_json(), differ.latest), self._checkpoint)
            return
        asked, wanted = asked_of(arrived.federated), wanted_of(arrived.federated)
        if asked is not None:
            if asked.own:
                yield from self._contributed(asked.key, self._peers.site, content)
            moment = arrived.at if asked.again else None  # else it is that of our own shards
            standing = (arrived.attached or {}).get("standing")
            question = request_to_peer(asked, arrived.message, moment, standing)
            for site in asked.sites:
                if site != self._peers.site:
                    yield from self._sender.request(site, question)
        if wanted is not None and arrived.message.get("op") != Unwatch.op:
            content.head["received"] = partials[0].head.get("received")
            yield from self._contributed(wanted.key, wanted.by, content)

    def _contributed(self, key: str, to: str, content: Content) -> Iterator[Outgoing]:
        told = replace(content, head={**content.head, "key": key})
        return self._sender.contribution(to, told)

    def reply(self, partial: Partial) -> Outgoing:
        arrived = partial.arrived
        asked = asked_of(arrived.federated)
        assert arrived.message is not None
        assert asked is not None
        request = decode_request(arrived.message, arrived.place)
        try:
            fields = reply_fields(request, partial, asked, self._peers.site)
        except WindowsDiffer as differ:
            if not asked.again:
                return self._ask_again(partial, asked, differ.latest)
            fault = Fault(Code.BAD_QUERY, "end=None: the sites have different windows open", "end")
            reply = refusal(request, fault, partial.batch, self._peers.site)
        except Refused as refused:
            reply = {
                **refusal(request, refused.fault, partial.batch, self._peers.site),
                **refused.told,
            }
        except PluginFailure as failure:
            reply = refusal(request, self._failed(failure), partial.batch, self._peers.site)
        except Exception as error:  # a defect in a kind must not stop every other answer
            _log.exception("no answer to %r", request)
            reply = refusal(request, internal(error), partial.batch, self._peers.site)
        else:
            reply = answer(request, partial.batch, self._peers.site, **fields)
        uid = getattr(request, "uid", None) or ",".join(getattr(request, "uids", ()))
        return Outgoing(uid, written({"uid": uid or None, **reply}))

    def _ask_again(self, partial: Partial, asked: Asked, at: int) -> Outgoing:
        """The sites had different windows open: all are asked for the one open at the latest."""
        place = partial.meeting
        second = replace(asked, key=f"{asked.key}+", again=True)
        arrived = replace(partial.arrived, place=place, federated=second.as_json())
        return to_loop(Again(arrived.as_json(), at), self._checkpoint)


def _once(arrived: Arrived) -> Arrived:
    """As it goes round the loop to be asked again: its bytes were counted."""
    wanted = wanted_of(arrived.federated)
    if wanted is None:
        return arrived
    return replace(arrived, federated=replace(wanted, size=0).as_json())
