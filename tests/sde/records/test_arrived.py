"""Records on their way from ingest to maintain, and as a log keeps them."""

import pytest

from sde.plugins.version import Made, Predecessor, Succession
from sde.records.arrived import FromSite, Told, for_all_shards, pack_arrived, unpack_arrived
from sde.records.asked import Asked, AskedInfore, Attached, Unreadable
from sde.records.loop import (
    Admit,
    Admitted,
    Again,
    Answered,
    Decided,
    Due,
    Failed,
    Progress,
    Tick,
    decode_loop,
    decode_unsealed,
    loop_bytes,
)
from sde.records.position import Position
from sde.records.seal import Forged, LoopSeal, NotOurs
from sde.records.sites import (
    Asking,
    Contributing,
    Contribution,
    OwnNote,
    SiteContribution,
    SiteNote,
    Stray,
)
from sde.records.versions import VersionInfo
from sde.records.watching import Standing
from sde.stages.log import Entry, pack_entry, unpack_entry
from sde.wire import Ask, Code, Create, Definition, Fault, Plugin
from sde.wire.windows import Window

HERE = {"position": Position("requests", 0, 17), "time": 5}
FAULT = Fault(Code.BAD_QUERY, "why", "end")
DEFINITION = Definition("d", "dft", {"window": 3}, "k", ("v",), window=Window("tumbling", 5, 5))
VERSION = VersionInfo(
    uid="u",
    version="v",
    number=1,
    at=2,
    dataset="d",
    kind="dft",
    scope={"stream": "s"},
    definition=DEFINITION,
    since=3,
    of=4,
)
ATTACHED = Attached(
    version=VERSION,
    parts="AAAA",
    highest=3,
    versions=[VERSION],
    standing=Standing("k", "a", ("a", "b"), 0.5),
    sizes=[("total@1", Made({"f": 2.0}, 8, None))],
    fault=FAULT,
)
CREATE = Create(id="c", uid="u", dataset="d", kind="count_min", params={"epsilon": 0.1})
ASKED = Asked(**HERE, request=Ask(id="q", several=["a", "b"]), at=7)
MADE = Made({"width": 8}, 64, {"cells": ["<i8", [8]]})
LOOP = [
    Tick(time=5, caught_up=True),
    Progress(dataset="d", clocks={"|auto|5": {"data-0": (1, 2)}}, changed=True),
    Answered(watch="w", number=3, value={"a": [1.5, None]}, holds=False),
    Again(asked=ASKED, at=9),
    Due(at=None),
    Admit(
        request=Plugin(id="p", name="fence", source="x", sha256="0" * 64),
        predecessor=Predecessor("fence@1", 1, [MADE]),
    ),
    Admitted(
        request="p",
        declaration={"doc": "x"},
        fault=FAULT,
        successions=[Succession("fence@1", {"width": 7}, MADE)],
    ),
    Decided(request="p", fault=FAULT),
    Failed(kind="total@1", reason="raised"),
]
SITES = [
    SiteContribution("k", "b", 9, Contribution(key="k", ok={"uid": "u"}), ["AAAA"]),
    SiteNote("k", "b", 9, True, 2.5),
    OwnNote("k", 3, ["AAAA"]),
    Stray("others"),
]
ARRIVED = [
    Asked(**HERE, request=CREATE, attached=ATTACHED, infore={"requestID": 1}),
    Asked(**HERE, request=CREATE, role=Asking("k", ("a", "b"), 5000, again=True)),
    Asked(**HERE, request=CREATE, role=Contributing("k", "b", 9)),
    ASKED,
    AskedInfore(**HERE, message={"requestID": 3, "param": ["a"]}, attached=Attached(highest=2)),
    Unreadable(**HERE, fault=FAULT, id="x"),
    *(Told(**HERE, message=message) for message in LOOP),
    *(FromSite(**HERE, message=message) for message in SITES),
]


@pytest.mark.parametrize("arrived", ARRIVED, ids=lambda a: type(a).__name__)
def test_a_record_comes_as_it_went(arrived):
    assert unpack_arrived(pack_arrived([arrived])) == [arrived]


def test_a_log_entry_is_read_as_it_was_written():
    entry = Entry(ARRIVED[:5], [b"block", b""], ARRIVED[5:], {"total@1": b"states"})
    assert unpack_entry(pack_entry(entry)) == entry


def test_what_sites_say_goes_to_one_shard_and_all_else_to_every_one():
    spread = [type(one) for one in ARRIVED if not for_all_shards(one)]
    assert set(spread) == {FromSite}


@pytest.mark.parametrize("message", LOOP, ids=lambda m: type(m).__name__)
def test_what_goes_round_the_loop_comes_back_under_its_checkpoint_only(message):
    seal = LoopSeal.new("mine")
    opened = seal.open(loop_bytes(message, seal, batch=8))
    assert (decode_loop(opened.body), opened.batch) == (message, 8)
    with pytest.raises(NotOurs):
        LoopSeal.new("another").open(loop_bytes(message, seal))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"{",
        b'{"op":"tick","checkpoint":"c"}',
        b'{"op":"tick","checkpoint":"c","time":"now"}',
        b'{"op":"tick","checkpoint":"c","time":9223372036854775807}',
        b'{"op":"progress","checkpoint":"c","dataset":"d","clocks":{"x":{"p":[1]}}}',
        b'{"op":"again","checkpoint":"c","at":1,"asked":{}}',
        b'{"op":"delete","checkpoint":"c","uid":"u"}',
        b'{"op":"answered","checkpoint":"c","value":' + b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_what_is_no_message_of_the_loop_is_told_apart(payload):
    with pytest.raises(Forged):
        decode_loop(payload)
    with pytest.raises(Forged):
        decode_unsealed(payload, "c")


def test_positions_sort_as_their_topic_does():
    offsets = [9, 10, 100, 2]
    positions = sorted(Position("t", 0, offset) for offset in offsets)
    assert [p.offset for p in positions] == sorted(offsets)
    assert Position.parse(str(positions[0])) == positions[0]
