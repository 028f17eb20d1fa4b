"""What became of a request at one shard: a closed set, which merge turns into replies."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from sde.plugins.version import Made, PluginVersion, Predecessor
from sde.records.left_out import LeftOut
from sde.records.sites import Cell, Interval
from sde.records.versions import VersionInfo
from sde.records.watching import Watching
from sde.wire import Fault, ReplyFields, SynopsisInfo
from synopses import Estimate


class Part:
    """Bytes of a state. Many questions have the same ones: equal parts travel once.

    A class of its own, which msgspec does not know, so that `bundle` decides how it travels.
    """

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)

    def __repr__(self) -> str:
        return f"Part({len(self.data)} bytes)"


class PackedPlugin(Struct, frozen=True):
    """A plug-in's class for another worker, with the sizes it told."""

    version: PluginVersion
    made: list[Made]


class Done(Struct, frozen=True, kw_only=True, tag="done", omit_defaults=True):
    """A change was carried out; what its reply says."""

    uid: str = ""
    info: SynopsisInfo | None = None
    watch: str = ""
    value: Any = None
    warnings: list[str] = []

    def fields(self) -> ReplyFields:
        """The fields of the reply."""
        info = {} if self.info is None else msgspec.to_builtins(self.info)
        named = {
            "uid": self.uid or None,
            "watch": self.watch or None,
            "value": self.value,
            "warnings": self.warnings or None,
        }
        return {**info, **{name: value for name, value in named.items() if value is not None}}


class Refused(Struct, frozen=True, tag="refused"):
    """Why a request was not carried out."""

    fault: Fault


class Waits(Struct, frozen=True, tag="waits", omit_defaults=True):
    """A plug-in that is to be examined before it gets its reply."""

    predecessor: Predecessor | None = None  # whose synopses it shall take over


class Tried(Struct, frozen=True, tag="tried"):
    """A version of a plug-in took over what a shard has of the synopses before it, or could not.

    Merge decides from this of all shards whether it may.
    """

    fault: Fault | None


class Described(SynopsisInfo, frozen=True, kw_only=True, omit_defaults=True):
    """A synopsis as `describe` and `list` show it, without its figures."""

    uid: str
    state: str = ""  # "quarantined", with the reason
    reason: str = ""
    expires: int | None = None
    watermark: int | UnsetType | None = UNSET


class Figures(Struct, frozen=True, kw_only=True, tag="figures", omit_defaults=True):
    """What a shard holds of each synopsis; the synopses, equal in all shards, from the first.

    `describe` wants a digest too. It is made from `states`, of a synopsis that has one state, or
    from `streams`, the sum of the digests of all streams here. None of both: there is no digest.
    """

    figures: list[dict[str, int]]
    synopses: list[Described] = []
    next: str = ""  # of a list: the last uid of this page, if there are more
    states: States | None = None
    streams: int | None = None


class PluginInfo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A version of a plug-in as users are told of it."""

    name: str
    version: int
    kind: str
    sha256: str
    key: str | None
    state: str
    reason: str = ""
    added: int
    doc: str
    synopses: int | None = None  # that are of this kind
    declared: dict[str, Any] = {}  # what the class declares, as the catalogue of kinds has it


class PluginList(Struct, frozen=True, tag="plugins"):
    plugins: list[PluginInfo] = []


class VersionList(Struct, frozen=True, tag="versions"):
    versions: list[VersionInfo] = []


class WatchList(Struct, frozen=True, kw_only=True, tag="watches", omit_defaults=True):
    """Watches that run: from shard 0, for all."""

    watches: list[Watching] = []
    next: str = ""  # the last id of this page, if there are more


class States(Struct, frozen=True, kw_only=True, tag="states", omit_defaults=True):
    """What a shard, or a site, holds of the synopses that a question is about.

    `tuples` has a number for each, None where nothing is held; `left_out` has an entry for each,
    none where nothing was left out. `windows` are the intervals that are meant, `latest` the latest
    moment known here, where shards may differ. `cells` are those of a data set's sessions, one part
    each. `estimate`: this shard alone knows the answer, and `digest` is that of its state.
    """

    about: list[SynopsisInfo] = []  # shard 0 only: they are equal in all
    plugin: PackedPlugin | None = None
    tuples: list[int | None] = []
    left_out: list[LeftOut] = []
    windows: list[Interval | None] = []
    latest: int | None = None
    cells: list[Cell] | None = None
    estimate: Estimate | None = None
    digest: str = ""
    parts: list[Part] = []


class Table(Struct, frozen=True, kw_only=True, tag="table", omit_defaults=True):
    """Rows about streams of one synopsis, all of this shard, as the reply has them.

    `window` is the one that all rows are about, where shards must mean the same; `latest` the
    latest moment known here.
    """

    rows: list[ReplyFields]
    streams: int  # that are here
    more: bool = False  # streams behind the rows
    unanswered: int = 0  # streams that have no value, among all that were asked
    shed: int = 0  # tuples of other streams, for which there was no room
    about: SynopsisInfo | None = None  # shard 0 only: it is equal in all
    window: Interval | None = None
    latest: int | None = None


Outcome = Done | Refused | Waits  # of a request that changes something
Result = (
    Done | Refused | Waits | Tried | Figures | PluginList | VersionList | WatchList | States | Table
)
