"""Requests, as plain frozen records. Each has the sender's `id` and its name on the wire, `op`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from sde.wire.durations import as_text
from sde.wire.windows import Span, Window

DATASET_SCOPE = "dataset"
STREAM_SCOPE = "stream"


@dataclass(frozen=True, slots=True)
class Definition:
    """What a synopsis summarises and how; equal definitions are the same synopsis."""

    dataset: str
    kind: str
    params: dict[str, Any] = field(default_factory=dict)
    key: str = ""  # the field whose values are the keys; "" for none
    values: tuple[str, ...] = ()  # the fields whose values are added; () counts 1
    scope: str = DATASET_SCOPE  # or STREAM_SCOPE
    stream: str | None = None  # with STREAM_SCOPE: only this stream
    window: Window | None = None
    time: str = ""  # the field that tells when a tuple happened; "": the tuple's own time
    idle: int | None = None  # ms without a tuple after which a stream is forgotten

    def as_json(self) -> dict[str, Any]:
        scope: Any = self.scope if self.stream is None else {"stream": self.stream}
        value: Any = self.values[0] if len(self.values) == 1 else list(self.values)
        return {
            "dataset": self.dataset,
            "kind": self.kind,
            "params": self.params,
            **({"key": self.key} if self.key else {}),
            **({"value": value} if self.values else {}),
            "scope": scope,
            **({"window": self.window.as_json()} if self.window else {}),
            **({"time": self.time} if self.time else {}),
            **({"idle": as_text(self.idle)} if self.idle else {}),
        }

    @classmethod
    def from_record(cls, held: dict[str, Any]) -> Definition:
        """The definition whose fields JSON kept."""
        window = held["window"] and Window(**held["window"])
        return cls(**{**held, "values": tuple(held["values"]), "window": window})


@dataclass(frozen=True, slots=True)
class Create:
    op: ClassVar = "create"
    id: str
    uid: str
    definition: Definition
    reuse: bool = False
    ttl: int | None = None  # ms after which the uid is deleted


@dataclass(frozen=True, slots=True)
class Delete:
    op: ClassVar = "delete"
    id: str
    uid: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Estimate: `uids` holds one synopsis, or several for a question about several."""

    op: ClassVar = "estimate"
    id: str
    uids: tuple[str, ...]
    query: dict[str, Any]
    stream: str | None = None
    span: Span | None = None  # of a windowed synopsis; None: the window that is open


@dataclass(frozen=True, slots=True)
class Export:
    """The merged state of a synopsis as bytes, in our format or that of Apache DataSketches."""

    op: ClassVar = "export"
    id: str
    uid: str
    stream: str | None = None
    format: str = "native"
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Import:
    """Merge a state into a synopsis, or put it in the place of what it holds."""

    op: ClassVar = "import"
    id: str
    uid: str
    state: bytes
    stream: str | None = None
    replace: bool = False
    tuples: int = 0  # how many tuples the state stands for


@dataclass(frozen=True, slots=True)
class ListAll:
    op: ClassVar = "list"
    id: str
    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class Describe:
    op: ClassVar = "describe"
    id: str
    uid: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Keep a version of a synopsis outside the engine; without a name it gets a number."""

    op: ClassVar = "snapshot"
    id: str
    uid: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring a version back, in the place of the synopsis or as a new one."""

    op: ClassVar = "restore"
    id: str
    uid: str
    version: str | None = None  # None: the newest
    as_uid: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The versions that are kept of one synopsis, or of all."""

    op: ClassVar = "snapshots"
    id: str
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """A question that is asked again and again; exactly one of `every` and `on` is set."""

    op: ClassVar = "watch"
    id: str
    question: Ask
    every: int | None = None  # ms
    on: str = ""  # ON_CLOSE or ON_CHANGE
    threshold: float = 0.0  # with ON_CHANGE: by how much the value must differ from the last
    relative: bool = False  # ... as a share of the last
    when: tuple[str, float] | None = None  # (">=", 1000): answer when that becomes true or false
    each: str = ""  # EACH_KEY or EACH_STREAM: one answer for each that had tuples in a batch


ON_CLOSE, ON_CHANGE = "close", "change"
EACH_KEY, EACH_STREAM = "key", "stream"


@dataclass(frozen=True, slots=True)
class Unwatch:
    op: ClassVar = "unwatch"
    id: str
    watch: str  # the id of the request that began it


@dataclass(frozen=True, slots=True)
class Plugin:
    """A new kind as source text; who wrote it is told by key and signature (both or none)."""

    op: ClassVar = "plugin"
    id: str
    name: str
    source: str
    sha256: str
    key: bytes = b""
    signature: bytes = b""


@dataclass(frozen=True, slots=True)
class Plugins:
    """The plug-ins that are here, in all their versions."""

    op: ClassVar = "plugins"
    id: str


@dataclass(frozen=True, slots=True)
class Unplug:
    """Take a plug-in out; without a version all of them."""

    op: ClassVar = "unplug"
    id: str
    name: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Sites:
    """Which sites are known, and whether they answer."""

    op: ClassVar = "sites"
    id: str


Request = (
    Create
    | Delete
    | Ask
    | Export
    | Import
    | ListAll
    | Describe
    | Snapshot
    | Restore
    | Snapshots
    | Watch
    | Unwatch
    | Plugin
    | Plugins
    | Unplug
    | Sites
)
