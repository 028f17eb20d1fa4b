"""Frames as messages to be written: to the desk of this site, or outbound to another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from sde.federation.frames import CONTRIBUTION, MOST_BYTES, REQUEST, Content
from sde.federation.peers import Peers
from sde.records.outgoing import Outgoing, Role
from sde.wire import Code, Fault


class Sender:
    """What is for a site that is known no more is left out: settings may change under a watch."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    def request(self, site: str, head: dict[str, Any]) -> Iterator[Outgoing]:
        if site in self._peers.sites:
            yield self._outgoing(site, self._peers.seal(REQUEST, site, Content(head)))

    def contribution(self, site: str, content: Content) -> Iterator[Outgoing]:
        """One that is too large for a topic becomes a fault, so that nobody waits for it."""
        if site not in self._peers.sites:
            return
        frame = self._peers.seal(CONTRIBUTION, site, content)
        if len(frame) > MOST_BYTES:
            reason = f"its contribution has {len(frame)} bytes: expected at most {MOST_BYTES}"
            fault = asdict(Fault(Code.TOO_LARGE, reason))
            kept = {n: content.head[n] for n in _ENVELOPE if n in content.head}
            frame = self._peers.seal(CONTRIBUTION, site, Content({**kept, "fault": fault}))
        yield self._outgoing(site, frame)

    def _outgoing(self, site: str, frame: bytes) -> Outgoing:
        if site == self._peers.site:
            return Outgoing("", frame, Role.LOOP)
        return Outgoing(site, frame, Role.OUTBOUND)


_ENVELOPE = ("key", "received", "standing", "number", "base", "watch")
