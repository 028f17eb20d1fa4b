"""A watch that runs: in the registry, and in partials on their way to its answers."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from sde.wire import Watch
from sde.wire.forms import InforeMessage


class Standing(Struct, frozen=True):
    """What makes a watch one over several sites."""

    key: str  # names it at all sites
    by: str  # the site that asked
    sites: tuple[str, ...]
    drift: float | None = None

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(site for site in self.sites if site != self.by)


class Watching(Struct, kw_only=True):
    """A watch with how far it has got. `infore`: its request, if it came in that dialect."""

    id: str
    since: int
    request: Watch = field(name="message")
    number: int = 0  # of the last answer
    last: Any = None  # the value answered last
    holds: bool | None = None  # whether its condition held then
    due: int | None = None  # when it asks next, by the clock
    infore: InforeMessage | None = None
    standing: Standing | None = None
