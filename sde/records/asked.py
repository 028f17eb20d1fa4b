"""A request as it arrived, with what ingest found for it."""

from __future__ import annotations

from msgspec import Struct

from sde.plugins.version import Made
from sde.records.position import Position
from sde.records.sites import Role
from sde.records.versions import Place, VersionInfo
from sde.records.watching import Standing
from sde.wire import Fault, Request
from sde.wire.forms import InforeMessage, JsonObject


class Attached(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What lies outside the engine and all shards must see alike, looked up once.

    In the log also what a replay must not look up again: the states that a restore read, the
    sizes that a plug-in told, why something failed.
    """

    version: VersionInfo | None = None  # that a restore is about; that has a new one's name
    parts: str = ""  # its states that belong to this shard, in base64
    highest: int = 0  # number of any version of the synopsis; of one that was refused: its own
    versions: list[VersionInfo] = []  # that `snapshots` asks for; that `keep` counts
    place: Place | None = None  # of a request about versions
    standing: Standing | None = None  # of a watch over several sites
    sizes: list[tuple[str, Made]] = []  # by kind
    preview: JsonObject | None = None  # what a source would make of its topic's records
    topics: list[str] | None = None  # that there are, for `sources`
    warnings: list[str] = []  # that the reply to `source` has
    fault: Fault | None = None


class Asked(Struct, frozen=True, kw_only=True, tag="asked", omit_defaults=True):
    """A request.

    `at`: the moment a question that is asked again is about. `role`: what makes it a request of
    several sites. `infore`: the request as it came, if that was in INFORE's dialect.
    """

    position: Position
    time: int  # Kafka's, ms
    request: Request
    at: int | None = None
    attached: Attached = Attached()
    role: Role | None = None
    infore: InforeMessage | None = None


class AskedInfore(Struct, frozen=True, kw_only=True, tag="infore", omit_defaults=True):
    """A request in INFORE's dialect, not translated yet."""

    position: Position
    time: int
    message: InforeMessage
    attached: Attached = Attached()


class Unreadable(Struct, frozen=True, kw_only=True, tag="unreadable", omit_defaults=True):
    """A message that is no request; its sender still gets a reply, under its `id` if it has one."""

    position: Position
    time: int
    fault: Fault
    id: str = ""
    infore: InforeMessage | None = None


AnyAsked = Asked | AskedInfore | Unreadable
