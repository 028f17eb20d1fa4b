"""Frames as messages to be written: to the state of this site, or outbound to another."""

from __future__ import annotations

from collections.abc import Iterator

from sde.federation.frames import MOST_BYTES, Content
from sde.federation.peers import Peers
from sde.records.outgoing import Outgoing, Topic
from sde.records.sites import Contribution, PeerRequest
from sde.wire import Code, Fault


class Sender:
    """What is for a site that is known no more is left out: settings may change under a watch."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    def request(self, site: str, head: PeerRequest) -> Iterator[Outgoing]:
        if site in self._peers.sites:
            yield self._outgoing(site, self._peers.seal(site, Content(head)))

    def contribution(
        self, site: str, head: Contribution, parts: list[bytes] | None = None
    ) -> Iterator[Outgoing]:
        """One that is too large for a topic becomes a fault, so that nobody waits for it."""
        if site not in self._peers.sites:
            return
        frame = self._peers.seal(site, Content(head, parts or []))
        if len(frame) > MOST_BYTES:
            reason = f"its contribution has {len(frame)} bytes: expected at most {MOST_BYTES}"
            refused = Contribution(
                key=head.key,
                received=head.received,
                standing=head.standing,
                number=head.number,
                base=head.base,
                watch=head.watch,
                fault=Fault(Code.TOO_LARGE, reason),
            )
            frame = self._peers.seal(site, Content(refused))
        yield self._outgoing(site, frame)

    def _outgoing(self, site: str, frame: bytes) -> Outgoing:
        if site == self._peers.site:
            return Outgoing("", frame, Topic.LOOP)
        return Outgoing(site, frame, Topic.OUTBOUND)
