"""Contributions as messages to be written: to the state of this site, or outbound to another."""

from __future__ import annotations

from collections.abc import Iterator

from sde.federation.frames import MOST_BYTES, Content, pack_content
from sde.federation.peers import Peers
from sde.records.outgoing import LoopWriter, Outgoing, Topic
from sde.records.sites import Contribution, PeerRequest
from sde.wire import Code, Fault


class Sender:
    """What is for a site that is known no more is left out: settings may change under a watch."""

    def __init__(self, peers: Peers, loop: LoopWriter) -> None:
        self._peers, self.loop = peers, loop

    def request(self, site: str, head: PeerRequest) -> Iterator[Outgoing]:
        if site in self._peers.sites:
            yield Outgoing(site, self._peers.seal(site, Content(head)), Topic.OUTBOUND)

    def contribution(
        self, site: str, head: Contribution, parts: list[bytes] | None = None
    ) -> Iterator[Outgoing]:
        """One that is too large for a topic becomes a fault, so that nobody waits for it."""
        if site not in self._peers.sites:
            return
        message = self._outgoing(site, Content(head, parts or []))
        size = len(message.value)
        if size > MOST_BYTES:
            reason = f"its contribution has {size} bytes: expected at most {MOST_BYTES}"
            refused = Contribution(
                key=head.key,
                received=head.received,
                standing=head.standing,
                number=head.number,
                base=head.base,
                watch=head.watch,
                fault=Fault(Code.TOO_LARGE, reason),
            )
            message = self._outgoing(site, Content(refused))
        yield message

    def _outgoing(self, site: str, content: Content) -> Outgoing:
        if site == self._peers.site:
            return self.loop.body(pack_content(content))
        return Outgoing(site, self._peers.seal(site, content), Topic.OUTBOUND)
