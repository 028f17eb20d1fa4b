"""What travels between sites, and what makes a request one of several sites."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from sde.records.left_out import LeftOut
from sde.records.watching import Standing
from sde.wire import Fault, SynopsisInfo

Whole = Annotated[int, Meta(gt=-(2**62), lt=2**62)]
Count = Annotated[int, Meta(ge=0, lt=2**62)]
Interval = tuple[Whole, Whole]
Cell = tuple[Whole, Whole, Whole]  # of a session: number, first and last time


class Asking(Struct, frozen=True, tag="asking"):
    """At the site that a client asked. `key` names this request, and no other, at all sites."""

    key: str
    sites: tuple[str, ...]
    deadline: int  # ms
    own: bool = True  # this site contributes, too
    again: bool = False  # asked a second time, about a moment that all sites know


class Contributing(Struct, frozen=True, tag="contributing"):
    """At another site: the site `by` is to get a contribution."""

    key: str
    by: str
    size: int  # bytes of the frame the request came in


Role = Asking | Contributing


class PeerRequest(Struct, frozen=True, omit_defaults=True):
    """The head of a frame that asks a peer: for a contribution, or something of a watch.

    `request` is the message of a plain request. Without one it is a note on a watch: `whole`:
    send the whole state again; `norm`: measure drift against this. `time`: when it was asked, by
    the clock of the site that asks.
    """

    key: Annotated[str, Meta(min_length=1, max_length=1024)]
    request: dict[str, Any] | None = None
    at: Whole | None = None  # the moment the question is about
    standing: Standing | None = None
    whole: bool = False
    norm: Annotated[float, Meta(ge=0)] | None = None
    time: Whole | None = None


class Contribution(Struct, frozen=True, omit_defaults=True):
    """The head of a frame with what a site has: a fault, an acknowledgement, or states.

    Of a watch over sites: `standing`, its `number`, the number it is the difference to (`base`;
    0: the whole state), and the `watch`. What a site tells itself: `sent`, `norm`.
    """

    key: Annotated[str, Meta(min_length=1, max_length=1024)]
    received: int | None = None  # bytes that came from the other site so far
    fault: Fault | None = None
    ok: dict[str, Any] | None = None  # what the reply to a change says
    about: list[SynopsisInfo] = []
    sha256: str = ""  # of the plug-in: each site runs its own
    tuples: list[Count | None] = []
    left_out: list[LeftOut] = []
    windows: list[Interval | None] = []
    latest: Whole | None = None
    cells: list[Cell] | None = None
    standing: bool = False
    number: int | None = None
    base: int | None = None
    watch: str = ""
    sent: int | None = None
    norm: float | None = None


class SiteContribution(Struct, frozen=True, tag="contribution"):
    """A contribution of a site, as it waits in the state of shard 0; `parts` in base64."""

    key: str
    site: str
    size: int  # bytes of the frame it came in
    head: Contribution
    parts: list[str] = []


class SiteNote(Struct, frozen=True, tag="note"):
    """What another site says about a watch; see `PeerRequest`."""

    key: str
    by: str
    size: int
    whole: bool = False
    norm: float | None = None
    time: int = 0


class OwnNote(Struct, frozen=True, tag="own"):
    """What merge here told other sites about a watch, for the state of shard 0."""

    key: str
    sent: int | None = None  # the number of the state that was sent
    parts: list[str] = []  # that state, in base64
    norm: float | None = None


class Stray(Struct, frozen=True, tag="stray"):
    """Messages that were refused, counted under the site they claim to be from."""

    site: str
    count: int = 1


SiteMessage = SiteContribution | SiteNote | OwnNote | Stray


class Traffic(Struct, frozen=True):
    """With one site, since the checkpoint began."""

    received: int = 0  # bytes from it
    sent: int = 0  # bytes to it, as it says
    late: int = 0  # contributions after the reply
    repeated: int = 0
    refused: int = 0  # frames that were not from it, or damaged


class SiteState(Struct, frozen=True):
    """The last state of a site for a watch; `parts` in base64."""

    number: int
    at: int  # when it came, by the clock of this site
    size: int  # bytes it came in
    head: Contribution
    parts: list[str] = []


class Account(Struct):
    """What a watch over sites has at this one."""

    states: dict[str, SiteState] = {}  # of other sites
    gaps: list[str] = []  # sites whose whole state is wanted again
    number: int = 0  # of what was sent last
    sent: list[str] = []  # that state, in base64
    norm: float | None = None  # bound of the norm that sites measure their drift against
    agreed: int = 0  # when another site said so, by its clock
