"""The fuzzed messages of `bench.poison`, and its accounts, on stages without Spark and Kafka."""

import json

from bench.poison.account import Replies, Tally, data_outcome
from bench.poison.deaths import DEATHS
from bench.poison.raw_batches import crc32c, with_checksum
from bench.poison.requests import Requests, import_request, import_target
from bench.poison.states import States, repaired
from sde.limits import StateLimits
from sde.plugins.trust import Trust
from sde.testing import LocalEngine
from synopses import KINDS, StateError
from synopses.state import unpack


def test_what_is_expected_and_found_in_any_order_leaves_nothing():
    tally = Tally()
    tally.found("a")
    tally.expect(["a", "b", "c", "c"])
    tally.found("c")
    assert (tally.missing, tally.surplus, tally.waiting) == ({"b": 1, "c": 1}, {}, 2)
    for name in ("b", "b", "c", "of somebody else"):
        tally.found(name)
    assert (tally.missing, tally.surplus) == ({}, {"b": 1})


def test_a_message_is_tuples_and_letters_by_line():
    good = b'{"dataset":"d","stream":"s","v":1}'
    counts, letters = data_outcome([good, b"no\n" + good + b"\n{}", b""])
    assert counts == {"d": 2}
    assert letters == [(1, 0), (1, 2)]


def test_fuzzed_requests_and_states_have_one_reply_each_under_the_name_that_is_expected(tmp_path):
    limits = StateLimits(max_bytes=2**28, max_synopses=300)
    engine = LocalEngine(shards=2, limits=limits, snapshots=tmp_path, trust=Trust(), site="main")
    names, tally, states = Replies(), Tally(), States(3)
    engine.replies(
        [{"id": cls.kind, "op": "create", **import_target(cls)} for cls in KINDS.values()]
    )
    offset = len(KINDS)
    for number in range(6):
        payloads = list(Requests(number).messages(80))
        payloads += [import_request(*_with_number(states, n), n % 2 == 0) for n in range(20)]
        expected = [names.name(payload, offset + i) for i, payload in enumerate(payloads)]
        tally.expect(name.replace("sde-requests", "requests") for name in expected if name)
        offset += len(payloads)
        for reply in engine.replies(payloads) + engine.settle():
            name = names.name_of(reply)
            if name is not None:
                tally.found(name)
            assert reply.get("code") != "internal", json.dumps(reply)[:500]
    assert (tally.missing, tally.surplus) == ({}, {})


def _with_number(states, number):
    cls, state = states.draw()
    return cls, number, state


def test_a_repaired_state_has_the_right_lengths_and_checksum():
    state = KINDS["count_min"].example().to_bytes()
    assert repaired(state) == state
    longer = repaired(state[:-4] + b"more" + state[-4:])
    assert len(unpack(longer).payload) == len(unpack(state).payload) + 4
    damaged = bytearray(state)
    damaged[-10] ^= 1
    try:
        unpack(bytes(damaged))
    except StateError:
        unpack(repaired(bytes(damaged)))
    else:
        raise AssertionError("the damage does not show")


def test_a_record_batch_gets_the_checksum_of_its_bytes():
    assert crc32c(b"123456789") == 0xE3069283
    batch = with_checksum(bytes(61))
    assert batch[8:12] == (61 - 12).to_bytes(4, "big")
    assert batch[17:21] == crc32c(batch[21:]).to_bytes(4, "big")


def test_planted_messages_are_told_apart_by_their_texts():
    texts = [death.text for death in DEATHS]
    assert len(set(texts)) == len(texts)
    for death in DEATHS:
        assert [text for text in texts if text.encode() in death.message] == [death.text]
