"""What the engine's worker and a plug-in's process say to each other: two closed sets of records.

    worker ── Envelope(Call), states ──> process of the plug-in
    worker <── Reply, states ─────────── process of the plug-in

`sde.plugins.remote` makes the calls, `sde.plugins.host` answers each in one exhaustive `match`,
`sde.plugins.process` turns the replies about errors into exceptions. None of this is durable: both
ends always have the same version. States travel as byte strings beside a record and arrays in
shared memory (`sde.plugins.region`). Values whose form is the user's or the plug-in's own
(parameters, queries, answers) travel as JSON that msgspec leaves alone (`Raw`).

>>> decoded = ENVELOPES.decode(to_bytes(Envelope([], Merge(to_raw({"width": 8})))))
>>> decoded.call.name, from_raw(decoded.call.params)
('merge', {'width': 8})
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import orjson
from msgspec import Raw

from sde.plugins.declaration import Declaration
from sde.plugins.region import PlacedArray

_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def to_raw(value: Any) -> Raw:
    """A value of free form as JSON; numbers and arrays of numpy are JSON's own then."""
    return Raw(orjson.dumps(value, option=_JSON))


def from_raw(raw: Raw) -> Any:
    """The value of free form that JSON text says; ValueError if it is no JSON."""
    return orjson.loads(memoryview(raw))


# -- calls -----------------------------------------------------------------------------------------

StatedLayout = dict[str, tuple[str, tuple[int, ...]]]  # dtype and shape by array


class _Call(msgspec.Struct, frozen=True, tag_field="call"):
    @property
    def name(self) -> str:
        """Its name in the reason of a failure, which users see."""
        return str(type(self).__struct_config__.tag)


class Load(_Call, frozen=True, tag="load"):
    """The first call of a process: close the fence, then run this source. Reply: Loaded."""

    plugin: str
    source: str
    memory: int  # bytes the process may take beside what Python needs


class ListLaws(_Call, frozen=True, tag="laws"):
    """Which laws are examined. Reply: LawNames."""


class CheckLaw(_Call, frozen=True, tag="law"):
    """Examine one law. Reply: Done, or Unfit."""

    law: str


class Make(_Call, frozen=True, tag="make"):
    """A synopsis with these parameters. Reply: Sizes."""

    params: Raw


class Add(_Call, frozen=True, tag="add"):
    """Add `size` items to the states beside this; array `slots` says which. Reply: Done, states."""

    params: Raw
    size: int


class AddSlots(_Call, frozen=True, tag="add_slots"):
    """Add `size` items to the arrays of a bank, in place. Reply: Done."""

    params: Raw
    size: int


class Merge(_Call, frozen=True, tag="merge"):
    """Merge the two states beside this. Reply: Done, one state."""

    params: Raw


class Ask(_Call, frozen=True, tag="estimate"):
    """Answer a query about the states beside this, the first one's question. Reply: Answer."""

    params: Raw
    query: Raw


class AskAcross(_Call, frozen=True, tag="across"):
    """Answer a question about many streams, whose arrays lie in shared memory. Reply: Answer."""

    params: Raw
    question: str
    streams: Sequence[str]
    arguments: Raw


class CheckState(_Call, frozen=True, tag="check"):
    """Is the one state beside this a state? Reply: Done, or BadState."""

    params: Raw


class Migrate(_Call, frozen=True, tag="migrate"):
    """Make states of the ones beside this, of an older version. Reply: Done, states."""

    params: Raw
    old_params: Raw
    old_layout: StatedLayout | None


Call = (
    Load
    | ListLaws
    | CheckLaw
    | Make
    | Add
    | AddSlots
    | Merge
    | Ask
    | AskAcross
    | CheckState
    | Migrate
)


class Envelope(msgspec.Struct, frozen=True):
    """A call, and where its arrays lie in the shared memory."""

    arrays: list[PlacedArray]
    call: Call


# -- replies ---------------------------------------------------------------------------------------


class _Reply(msgspec.Struct, frozen=True, tag_field="reply"):
    pass


class Loaded(_Reply, frozen=True, tag="loaded"):
    declaration: Declaration


class LawNames(_Reply, frozen=True, tag="laws"):
    """All laws, each with the reason why it says nothing about the class, "" if it does."""

    names: dict[str, str]


class Sizes(_Reply, frozen=True, tag="sizes"):
    """What follows from parameters: all of them, the memory, and the arrays if it has any."""

    params: Raw
    memory: int
    layout: StatedLayout | None


class Answer(_Reply, frozen=True, tag="answer"):
    estimate: Raw


class Done(_Reply, frozen=True, tag="done"):
    """What was asked for is in the states beside this, or in shared memory."""


class BadParameter(_Reply, frozen=True, tag="bad_parameter"):
    name: str
    value: Raw
    expected: str


class BadQuery(_Reply, frozen=True, tag="bad_query"):
    name: str
    value: Raw
    expected: str


class BadState(_Reply, frozen=True, tag="bad_state"):
    reason: str


class BadMerge(_Reply, frozen=True, tag="bad_merge"):
    reason: str


class Unfit(_Reply, frozen=True, tag="unfit"):
    """The source is no plug-in, or its class breaks a law."""

    reason: str


class Broken(_Reply, frozen=True, tag="broken"):
    """The plug-in raised what it must not raise."""

    reason: str


Result = Loaded | LawNames | Sizes | Answer | Done
Problem = BadParameter | BadQuery | BadState | BadMerge | Unfit | Broken
Reply = Result | Problem

ENVELOPES = msgspec.json.Decoder(Envelope)
REPLIES: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)
to_bytes = msgspec.json.Encoder(enc_hook=to_raw).encode
