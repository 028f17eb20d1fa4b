"""The sites that are known here, and the secret shared with each."""

from __future__ import annotations

from collections.abc import Mapping

from sde.federation.frames import Content, FrameError, seal, sender_of, unseal


class Peers:
    """`secrets` by the names of the other sites."""

    def __init__(self, site: str = "main", secrets: Mapping[str, str] | None = None) -> None:
        self.site = site
        self._secrets = {name: secret.encode() for name, secret in (secrets or {}).items()}

    @property
    def sites(self) -> tuple[str, ...]:
        """This site, then its peers."""
        return (self.site, *self._secrets)

    def seal(self, receiver: str, content: Content) -> bytes:
        return seal(self.site, receiver, self._secrets[receiver], content)

    def unseal(self, payload: bytes) -> tuple[str, Content]:
        """Who sent a frame and what it holds; FrameError if it is not from a site we know."""
        sender = sender_of(payload)
        secret = self._secrets.get(sender)
        if secret is None:
            raise FrameError(f"{sender[:80]!r} is no other site that is known here")
        return sender, unseal(payload, self.site, secret)
