"""Requests: one declaration of each message.

A class here is a message on the wire: its tag is the `op`, its fields are the message's, with
their types, what a fault says was expected, and a sentence for the reference. Decoding, encoding,
checks, the reference in docs/ and the tests that hold SDK and command line to it come from here.

Fields have the values of the wire (`"5m"`); properties give what the engine works with (300000).
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, field, to_builtins
from msgspec.structs import replace

from sde.wire.catalogue import kinds
from sde.wire.definitions import DATASET_SCOPE, STREAM_SCOPE, Definition
from sde.wire.durations import EXPECTED as A_DURATION
from sde.wire.durations import as_text, milliseconds
from sde.wire.forms import (
    Condition,
    Duration,
    Expected,
    FieldNames,
    Flag,
    JsonObject,
    KeyFields,
    Moment,
    Name,
    OneStream,
    Scope,
    SiteNames,
    Uid,
    Uids,
    moment,
    refuse,
)
from sde.wire.message import Message
from sde.wire.plugins import LARGEST_SOURCE, NAME_FORM
from sde.wire.sources import Preview, Source, Sources, Unsource
from sde.wire.windows import Span, WindowMessage

ON_CLOSE, ON_CHANGE = "close", "change"
EACH_KEY, EACH_STREAM = "key", "stream"
ALL_STREAMS = "*"
LARGEST_PAGE = 5_000  # items in one reply: with ordinary definitions a few megabytes
_VERSION_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_CONDITION = re.compile(r"\s*(>=|<=|>|<|==|!=)\s*(\S+)\s*")
_SHORTEST_EVERY = 100  # ms
# While a version is written the one before must stay: only all shards together complete it.
_AT_LEAST_TWO = "a whole number of at least 2: this version and the one before it"
_DEADLINE, _LONGEST_DEADLINE, _PING = 5_000, 60_000, 3_000  # ms


def _duration(name: str, value: str | None) -> int | None:
    """Milliseconds; None if nothing was said."""
    if value is None:
        return None
    found = milliseconds(value)
    if found is None:
        refuse(name, value, A_DURATION)
    return found


def _patience(deadline: str | None, default: int) -> int:
    """How long other sites are waited for, in ms."""
    found = _duration("deadline", deadline)
    if found is not None and found > _LONGEST_DEADLINE:
        refuse("deadline", deadline, f"at most {as_text(_LONGEST_DEADLINE)}")
    return default if found is None else found


# -- fields that several messages have ------------------------------------------------------------

TheUid = Annotated[Uid, Meta(description="the name of the synopsis")]
AskedUid = Annotated[Uid | None, Meta(description="the synopsis that is asked")]
AskedUids = Annotated[
    Uids | None, Meta(description="in place of `uid`: the synopses of a question about several")
]
Query = Annotated[
    JsonObject, Meta(description="the question: `type` (the kind's first, if left out), arguments")
]
OfStream = Annotated[Name | None, Meta(description='the stream that is meant, at scope "stream"')]
End = Annotated[Moment | None, Meta(description="the window that closed at this time")]
From = Annotated[Moment | None, Meta(description="with `to`: all panes from this time on")]
To = Annotated[Moment | None, Meta(description="with `from`: all panes before this time")]
OverSites = Annotated[
    SiteNames | None, Meta(description='the sites that shall take part; "*": all')
]
Deadline = Annotated[
    Duration | None, Meta(description="how long to wait for sites (5s; `sites`: 3s; at most 60s)")
]
Version = Annotated[
    Uid | None,
    Meta(description="its name; left out: a number when it is taken, the newest otherwise"),
]
A_PAGE = f"a whole number from 1 to {LARGEST_PAGE}"
Limit = Annotated[int | None, Expected(A_PAGE), Meta(description="how many at most")]
PluginName = Annotated[Name, Meta(description="small letters, digits, underscores: at most 50")]


def _check_page(limit: int | None, after: str | None) -> None:
    if limit is not None and not 1 <= limit <= LARGEST_PAGE:
        refuse("limit", limit, A_PAGE)
    if after is not None and limit is None:
        refuse("after", after, "it only with `limit`")


# -- synopses -------------------------------------------------------------------------------------


class Create(Message, frozen=True, kw_only=True, tag="create"):
    """Begin a synopsis."""

    uid: TheUid
    dataset: Annotated[Name, Meta(description="the data set it summarises")]
    kind: Annotated[Name, Meta(description="the algorithm: one of the kinds, or of a plug-in")]
    params: Annotated[JsonObject, Meta(description="the parameters of the kind")] = field(
        default_factory=dict
    )
    key: Annotated[
        KeyFields | None,
        Meta(description="the field whose values are the keys; a list: several make one together"),
    ] = None
    value: Annotated[
        FieldNames | None, Meta(description="the field, or fields, whose values are added")
    ] = None
    where: Annotated[
        Condition | None,
        Meta(description="an expression: only tuples that it is true of are counted"),
    ] = None
    scope: Annotated[
        Scope,
        Meta(
            description='"dataset": one summary of all; "stream": one for each stream, made when '
            'it first appears; {"stream": name}: of that stream only'
        ),
    ] = "dataset"
    window: Annotated[WindowMessage | None, Meta(description="see the windows' fields")] = None
    time: Annotated[
        Name | None,
        Meta(description="the field that tells when a tuple happened, for kinds that read times"),
    ] = None
    ttl: Annotated[
        Duration | None, Meta(description="how long after its creation the uid is deleted")
    ] = None
    idle: Annotated[
        Duration | None,
        Meta(description='how long after its last tuple a stream is forgotten (scope "stream")'),
    ] = None
    reuse: Annotated[
        Flag, Meta(description="attach to a running synopsis with an equal definition")
    ] = False
    sites: OverSites = None
    deadline: Deadline = None

    @property
    def named(self) -> str:
        return self.uid

    @property
    def patience(self) -> int:
        return _patience(self.deadline, _DEADLINE)

    @property
    def definition(self) -> Definition:
        values = [self.value] if isinstance(self.value, str) else self.value or ()
        one = isinstance(self.scope, OneStream)
        return Definition(
            dataset=self.dataset,
            kind=self.kind,
            params=self.params,
            key=_key(self.key),
            values=tuple(values),
            scope=STREAM_SCOPE if one else str(self.scope),
            stream=self.scope.stream if isinstance(self.scope, OneStream) else None,
            window=self.window.window() if self.window else None,
            time=self.time or "",
            idle=_duration("idle", self.idle),
            where=self.where or "",
        )

    def completed(self) -> Create:
        """With the defaults that are decided when it arrives, so that a replay has the same."""
        request = self
        if self.window is not None:
            request = replace(request, window=self.window.with_lateness())
        kind = kinds().get(self.kind)
        counts = kind.values_needed if kind is not None else 0
        if isinstance(counts, str) and isinstance(self.value, list):
            request = replace(request, params={counts: len(self.value), **self.params})
        return request

    @property
    def lifetime(self) -> int | None:
        """`ttl` in ms."""
        return _duration("ttl", self.ttl)

    def check(self) -> None:
        _ = self.definition, self.lifetime, self.patience


class Delete(Message, frozen=True, kw_only=True, tag="delete"):
    """End a synopsis; of several uids that share one, the last delete frees it."""

    uid: TheUid
    sites: OverSites = None
    deadline: Deadline = None

    @property
    def named(self) -> str:
        return self.uid

    @property
    def patience(self) -> int:
        return _patience(self.deadline, _DEADLINE)

    def check(self) -> None:
        _ = self.patience


# -- questions ------------------------------------------------------------------------------------


def _uids(uid: str | None, several: list[str] | None) -> tuple[str, ...]:
    if several is not None:
        return tuple(several)
    if uid is None:
        refuse("uid", None, "the uid of a synopsis, or `uids` with several")
    return (uid,)


def _span(end: int | str | None, start: int | str | None, to: int | str | None) -> Span | None:
    """Which part of a windowed synopsis is meant; None: the window that is open."""
    if end is not None:
        return Span(moment("end", end))
    if start is None and to is None:
        return None
    first, last = moment("from", start), moment("to", to)
    if first >= last:
        refuse("to", to, "a time after `from`")
    return Span(last, first)


class Ask(Message, frozen=True, kw_only=True, tag="estimate"):
    """Ask a synopsis, or several; the reply has the value with its bounds.

    With the stream `"*"` all streams of a synopsis of scope "stream" are asked. The `value` has a
    row for each, in the order of their names: `stream`, and what an answer about it alone says. It
    comes in pages as a `list` does, of at most 5000 rows; or, with `top`, it has only the rows with
    the largest values.
    """

    uid: AskedUid = None
    several: AskedUids = field(name="uids", default=None)
    query: Query = field(default_factory=dict)
    stream: Annotated[
        Name | None, Meta(description='the stream that is meant, at scope "stream"; `"*"`: all')
    ] = None
    top: Annotated[
        int | None,
        Expected(A_PAGE),
        Meta(description='with the stream `"*"`: how many, the largest value first'),
    ] = None
    after: Annotated[
        Name | None, Meta(description='with the stream `"*"`: only names behind this one')
    ] = None
    limit: Limit = None
    end: End = None
    start: From = field(name="from", default=None)
    to: To = None
    sites: OverSites = None
    deadline: Deadline = None

    @property
    def uids(self) -> tuple[str, ...]:
        return _uids(self.uid, self.several)

    @property
    def named(self) -> str:
        return ",".join(self.uids)

    @property
    def span(self) -> Span | None:
        return _span(self.end, self.start, self.to)

    @property
    def patience(self) -> int:
        return _patience(self.deadline, _DEADLINE)

    @property
    def most(self) -> int:
        """How many streams a reply about all of them has at most."""
        return self.top or self.limit or LARGEST_PAGE

    def check(self) -> None:
        _ = self.uids, self.span, self.patience
        if self.stream == ALL_STREAMS:
            self._check_all_streams()
            return
        for name in ("top", "after", "limit"):
            if getattr(self, name) is not None:
                refuse(name, getattr(self, name), 'it only with "stream": "*"')

    def _check_all_streams(self) -> None:
        _check_page(self.limit, self.after)
        if len(self.uids) > 1:
            refuse("uids", self.several, 'one `uid`: "stream": "*" asks about one synopsis')
        if self.sites is not None:
            refuse("sites", self.sites, 'none with "stream": "*": ask each site by itself')
        if self.top is not None and not 1 <= self.top <= LARGEST_PAGE:
            refuse("top", self.top, A_PAGE)
        if self.top is not None and self.limit is not None:
            refuse("limit", self.limit, "it without `top`, which is one page")


class Watch(Message, frozen=True, kw_only=True, tag="watch"):
    """Ask again and again; answers are numbered."""

    uid: AskedUid = None
    several: AskedUids = field(name="uids", default=None)
    query: Query = field(default_factory=dict)
    stream: OfStream = None
    end: End = None
    start: From = field(name="from", default=None)
    to: To = None
    sites: OverSites = None
    deadline: Deadline = None
    every: Annotated[
        Duration | None, Meta(description="how often it answers, whether tuples come or not")
    ] = None
    on: Annotated[
        Literal["close", "change"] | None,
        Expected("one of change, close"),
        Meta(description='in place of `every`: "change" of the value, or "close" of a window'),
    ] = None
    threshold: Annotated[
        int | float | str | None,
        Expected('a number of at least 0, or a share such as "5%"'),
        Meta(description='with "change": by how much the value must have moved (5 or "5%")'),
    ] = None
    when: Annotated[
        str | None,
        Expected('a condition such as ">= 1000"'),
        Meta(description='answer only when this becomes true or false: ">= 1000"'),
    ] = None
    each: Annotated[
        Literal["key", "stream"] | None,
        Expected("one of key, stream"),
        Meta(description='with "change": an answer for each key, or stream, that had tuples'),
    ] = None
    drift: Annotated[
        int | float | None,
        Expected("a number above 0"),
        Meta(description="over sites: how far the value may move in silence"),
    ] = None

    @property
    def uids(self) -> tuple[str, ...]:
        return _uids(self.uid, self.several)

    @property
    def named(self) -> str:
        return ",".join(self.uids)

    @property
    def span(self) -> Span | None:
        return _span(self.end, self.start, self.to)

    @property
    def patience(self) -> int:
        return _patience(self.deadline, _DEADLINE)

    @property
    def question(self) -> Ask:
        """What is asked each time."""
        return Ask(
            id=self.id,
            uid=self.uid,
            several=self.several,
            query=self.query,
            stream=self.stream,
            end=self.end,
            start=self.start,
            to=self.to,
        )

    @property
    def period(self) -> int | None:
        """`every` in ms."""
        return _duration("every", self.every)

    @property
    def occasion(self) -> str:
        """ON_CHANGE or ON_CLOSE; "" of a watch by the clock."""
        return "" if self.every is not None else self.on or ON_CHANGE

    @property
    def least_change(self) -> tuple[float, bool]:
        """By how much the value must have moved, and whether that is a share of the last."""
        if self.occasion != ON_CHANGE:
            return 0.0, False
        value = self.threshold
        relative = isinstance(value, str) and value.strip().endswith("%")
        try:
            number = float(str(value).strip()[:-1]) / 100 if relative else float(value or 0)
        except ValueError:
            number = math.nan
        if not 0 <= number < math.inf:
            expected = 'a number of at least 0, or a share such as "5%"'
            refuse("threshold", value, expected)
        return number, relative

    @property
    def condition(self) -> tuple[str, float] | None:
        """`when`, as sign and number."""
        if self.when is None:
            return None
        match = _CONDITION.fullmatch(self.when)
        try:
            number = float(match[2]) if match else math.nan
        except ValueError:
            number = math.nan
        if match is None or not math.isfinite(number):
            refuse("when", self.when, 'a condition such as ">= 1000"')
        return match[1], number

    def check(self) -> None:
        _ = self.uids, self.span, self.patience
        if self.stream == ALL_STREAMS:
            expected = (
                'the name of a stream; "each": "stream", without `when`, answers for all that had '
                "tuples"
            )
            refuse("stream", self.stream, expected)
        condition, period = self.condition, self.period
        if period is not None and period < _SHORTEST_EVERY:
            refuse("every", self.every, f"at least {_SHORTEST_EVERY}ms")
        if period is not None:
            if self.on is not None:
                refuse("on", self.on, "nothing beside `every`: a watch has one of the two")
            for name in ("threshold", "each"):
                if getattr(self, name) is not None:
                    refuse(name, getattr(self, name), 'it only with "on": "change"')
        elif self.on is None and condition is None:
            refuse("every", None, 'a duration, or "on": "change" or "close" in its place')
        number, _ = self.least_change
        if self.each and (self.occasion != ON_CHANGE or number or condition):
            expected = 'only "on": "change" beside it, without threshold or condition'
            refuse("each", self.each, expected)
        self._check_drift()

    def _check_drift(self) -> None:
        if self.drift is not None and not 0 < self.drift < math.inf:
            refuse("drift", self.drift, "a number above 0")
        if self.drift is not None and self.sites is None:
            refuse("drift", self.drift, "it only with a watch over sites")
        for name in ("on", "when", "each"):
            if self.sites is not None and getattr(self, name) is not None:
                expected = "`every` alone: a watch over sites answers by the clock"
                refuse(name, getattr(self, name), expected)


class Unwatch(Message, frozen=True, kw_only=True, tag="unwatch"):
    """End a watch."""

    watch: Annotated[Name, Meta(description="the id of the request that began it")]


class Watches(Message, frozen=True, kw_only=True, tag="watches"):
    """The watches that run, what they ask and how far they have got, in the order of their ids.

    They come in pages as a `list` does, of at most 5000.
    """

    uid: Annotated[Uid | None, Meta(description="only those that ask this synopsis")] = None
    dataset: Annotated[Name | None, Meta(description="only those that ask this data set")] = None
    after: Annotated[Name | None, Meta(description="only ids behind this one")] = None
    limit: Limit = None

    @property
    def named(self) -> str:
        return self.uid or ""

    @property
    def most(self) -> int:
        return self.limit or LARGEST_PAGE

    def check(self) -> None:
        _check_page(self.limit, self.after)


class Export(Message, frozen=True, kw_only=True, tag="export"):
    """The merged state of a synopsis as bytes."""

    uid: TheUid
    stream: OfStream = None
    end: End = None
    start: From = field(name="from", default=None)
    to: To = None
    format: Annotated[
        Literal["native", "datasketches"],
        Expected("one of native, datasketches"),
        Meta(description="our own bytes, or those of Apache DataSketches"),
    ] = "native"

    @property
    def named(self) -> str:
        return self.uid

    @property
    def span(self) -> Span | None:
        return _span(self.end, self.start, self.to)

    def check(self) -> None:
        _ = self.span


class Import(Message, frozen=True, kw_only=True, tag="import"):
    """Merge a state into a synopsis, or put it in the place of what it holds."""

    uid: TheUid
    state: Annotated[
        str,
        Expected("a state in base64, as export gives it"),
        Meta(description="base64, as export gives it"),
    ] = ""
    stream: OfStream = None
    mode: Annotated[
        Literal["merge", "replace"],
        Expected("one of merge, replace"),
        Meta(description="add to what is there, or take its place"),
    ] = "merge"
    tuples: Annotated[
        int,
        Meta(ge=0, lt=2**62, description="how many tuples the state stands for"),
        Expected("a number of tuples"),
    ] = 0

    @property
    def named(self) -> str:
        return self.uid

    @property
    def state_bytes(self) -> bytes:
        return _from_base64("state", self.state, "a state in base64, as export gives it")

    def check(self) -> None:
        _ = self.state_bytes


class ListAll(Message, frozen=True, kw_only=True, tag="list"):
    """The synopses of a data set, or of all, with their figures, in the order of their creation.

    With a `limit` the reply is one page of them, in the order of their uids. It has `next` if there
    are more: that is the `after` of the next page.
    """

    dataset: Annotated[Name | None, Meta(description="only those of this data set")] = None
    after: Annotated[Uid | None, Meta(description="only uids behind this one")] = None
    limit: Limit = None

    def check(self) -> None:
        _check_page(self.limit, self.after)


class Describe(Message, frozen=True, kw_only=True, tag="describe"):
    """The definition of a synopsis with its figures."""

    uid: TheUid
    digest: Annotated[
        Flag, Meta(description="the digest of the state, also of one beyond 1 MiB")
    ] = False

    @property
    def named(self) -> str:
        return self.uid


class Streams(Message, frozen=True, kw_only=True, tag="streams"):
    """The streams of a synopsis of scope "stream" with their figures, in the order of their names.

    They come in pages as a `list` does, of at most 5000.
    """

    uid: TheUid
    after: Annotated[Name | None, Meta(description="only names behind this one")] = None
    limit: Limit = None

    @property
    def named(self) -> str:
        return self.uid

    @property
    def most(self) -> int:
        return self.limit or LARGEST_PAGE

    def check(self) -> None:
        _check_page(self.limit, self.after)


# -- versions -------------------------------------------------------------------------------------


def _check_version(version: str | None) -> None:
    if version is not None and not _VERSION_FORM.fullmatch(version):
        refuse("version", version, "letters, digits, dots, dashes and underscores, at most 100")


class Snapshot(Message, frozen=True, kw_only=True, tag="snapshot"):
    """Keep a version of a synopsis outside the engine."""

    uid: TheUid
    version: Version = None
    replace: Annotated[
        Flag, Meta(description="take the place of a version that has this name, if there is one")
    ] = False
    keep: Annotated[
        int | None,
        Expected(_AT_LEAST_TWO),
        Meta(description="how many versions of it stay, this one among them; older ones go"),
    ] = None

    @property
    def named(self) -> str:
        return self.uid

    def check(self) -> None:
        _check_version(self.version)
        if self.keep is not None and self.keep < 2:
            refuse("keep", self.keep, _AT_LEAST_TWO)


class Restore(Message, frozen=True, kw_only=True, tag="restore"):
    """Bring a version back, in the place of the synopsis or as a new one."""

    uid: TheUid
    version: Version = None
    as_uid: Annotated[Uid | None, Meta(description="the uid of the new synopsis")] = field(
        name="as", default=None
    )

    @property
    def named(self) -> str:
        return self.uid

    def check(self) -> None:
        _check_version(self.version)


class RemoveSnapshot(Message, frozen=True, kw_only=True, tag="remove_snapshot"):
    """Remove a version that is kept; its synopsis need not run."""

    uid: TheUid
    version: Annotated[Uid, Meta(description="its name")]

    @property
    def named(self) -> str:
        return self.uid

    def check(self) -> None:
        _check_version(self.version)


class Snapshots(Message, frozen=True, kw_only=True, tag="snapshots"):
    """The versions that are kept of one synopsis, or of all."""

    uid: Annotated[Uid | None, Meta(description="only those of this synopsis")] = None

    @property
    def named(self) -> str:
        return self.uid or ""


# -- plug-ins and sites ---------------------------------------------------------------------------


def _check_plugin_name(name: str) -> None:
    if not NAME_FORM.fullmatch(name):
        expected = "a small letter, then small letters, digits, underscores: at most 50"
        refuse("name", name, expected)


class Plugin(Message, frozen=True, kw_only=True, tag="plugin"):
    """A new kind as source text; who wrote it is told by key and signature (both or none)."""

    name: PluginName
    source: Annotated[
        str,
        Meta(min_length=1, max_length=LARGEST_SOURCE, description="Python source with one class"),
        Expected(f"Python source of at most {LARGEST_SOURCE} characters"),
    ]
    sha256: Annotated[
        str,
        Meta(pattern="^[0-9a-f]{64}$", description="of the source"),
        Expected("64 hexadecimal digits"),
    ]
    key: Annotated[
        str,
        Expected("an Ed25519 public key in base64"),
        Meta(description="of its author: an Ed25519 public key in base64"),
    ] = ""
    signature: Annotated[
        str,
        Expected("an Ed25519 signature in base64"),
        Meta(description="over the lines `sde-plugin`, name, sha256; base64"),
    ] = ""
    migrate: Annotated[
        Flag,
        Meta(description="the synopses of the version before go on as synopses of this one"),
    ] = False

    @property
    def key_bytes(self) -> bytes:
        return _from_base64("key", self.key, "an Ed25519 public key in base64")

    @property
    def signature_bytes(self) -> bytes:
        return _from_base64("signature", self.signature, "an Ed25519 signature in base64")

    def check(self) -> None:
        _check_plugin_name(self.name)
        _ = self.key_bytes, self.signature_bytes


class Plugins(Message, frozen=True, kw_only=True, tag="plugins"):
    """The plug-ins that are here, in all their versions."""


class _OfVersions(Message, frozen=True, kw_only=True):
    """What requests about versions of a plug-in have."""

    name: PluginName
    version: Annotated[
        int | None, Expected("a whole number"), Meta(description="left out: all of them")
    ] = None

    def check(self) -> None:
        _check_plugin_name(self.name)


class Unplug(_OfVersions, frozen=True, kw_only=True, tag="unplug"):
    """Take a plug-in out; refused while synopses are made of it."""


class Release(_OfVersions, frozen=True, kw_only=True, tag="release"):
    """Let a quarantined plug-in go on; tuples that came meanwhile are missed, and counted."""


class Sites(Message, frozen=True, kw_only=True, tag="sites"):
    """Which sites are known, and whether they answer."""

    deadline: Deadline = None

    @property
    def patience(self) -> int:
        return _patience(self.deadline, _PING)

    def check(self) -> None:
        _ = self.patience


Request = (
    Create
    | Delete
    | Ask
    | Watch
    | Unwatch
    | Watches
    | Export
    | Import
    | ListAll
    | Describe
    | Streams
    | Snapshot
    | Restore
    | Snapshots
    | RemoveSnapshot
    | Plugin
    | Plugins
    | Unplug
    | Release
    | Sites
    | Source
    | Unsource
    | Sources
    | Preview
)
# Those that change nothing.
Read = (
    Ask
    | Watches
    | Export
    | ListAll
    | Describe
    | Streams
    | Snapshots
    | Plugins
    | Sites
    | Sources
    | Preview
)
READS: tuple[type[Read], ...] = get_args(Read)
# Those that are carried out before the tuples of their batch are added.
NEED_NO_DATA = (
    Create,
    Delete,
    Watch,
    Unwatch,
    RemoveSnapshot,
    Plugin,
    Unplug,
    Release,
    Source,
    Unsource,
    Sources,
    Preview,
)


def creation(request_id: str, uid: str, definition: Definition) -> Create:
    """The request that asks for a definition without a window."""
    assert definition.window is None
    stream = definition.stream
    return Create(
        id=request_id,
        uid=uid,
        dataset=definition.dataset,
        kind=definition.kind,
        params=definition.params,
        key=list(definition.key_fields) or None,
        value=list(definition.values) or None,
        scope=_scope(definition) if stream is None else OneStream(stream),
        time=definition.time or None,
        idle=as_text(definition.idle) if definition.idle else None,
        where=definition.where or None,
    )


def _key(fields: str | list[str] | None) -> str | tuple[str, ...]:
    """As definitions have it: a list of one field is that field."""
    if isinstance(fields, list):
        return fields[0] if len(fields) == 1 else tuple(fields)
    return fields or ""


def _scope(definition: Definition) -> Literal["dataset", "stream"]:
    return "dataset" if definition.scope == DATASET_SCOPE else "stream"


def _from_base64(name: str, value: str, expected: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        refuse(name, value, expected)


def message_of(request: Request) -> dict[str, Any]:
    """The message that decodes to this request."""
    return dict(to_builtins(request))
