"""What goes wrong with a plug-in, as opposed to what its user got wrong."""

from __future__ import annotations


class PluginFailure(Exception):
    """The plug-in broke its contract: it must not be called again. Says what it did."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"{kind}: {reason}")
        self.kind, self.reason = kind, reason
