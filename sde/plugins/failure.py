"""What goes wrong with a plug-in, as opposed to what its user got wrong."""

from __future__ import annotations

from synopses import MergeError


class PluginFailure(Exception):
    """The plug-in broke its contract: it must not be called again. Says what it did."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"{kind}: {reason}")
        self.kind, self.reason = kind, reason


class RefusedMerge(PluginFailure, MergeError):
    """The plug-in will not merge two states.

    That is its right where one came from outside: who merges such states catches MergeError. To
    all others it is a failure.
    """
